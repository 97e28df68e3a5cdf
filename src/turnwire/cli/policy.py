"""``turnwire policy``: read a policy, and say what it makes of a message."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from turnwire.cli.output import STDOUT, AsJson, literal, note
from turnwire.errors import SetupError
from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.explain import Explanation, Step, explain, plain
from turnwire.nodes.guardrails.policy import Policy, find_policy
from turnwire.nodes.guardrails.rules import Finding, Rule
from turnwire.retrieval.encoder import EmbeddedEncoder

app = typer.Typer(help="Guardrail policies.", no_args_is_help=True, rich_markup_mode=None)


@app.command("check")
def check(
    file: Annotated[str, typer.Argument(help="A policy's file, or the name of a shipped one.")],
    messages: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MESSAGE]...", help="Explain the verdict on each; - reads lines."),
    ] = None,
    together: Annotated[
        bool, typer.Option(help="The messages are those of one turn, and not each its own.")
    ] = False,
    locale: Annotated[str | None, typer.Option(help="The member's language.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a policy is fine, and what it makes of messages, rule by rule.

    Exits with 0 where the policy is fine, whatever the verdicts, and with 1 where it is not.

    Example: turnwire policy check health "I have no chest pain"
    """
    try:
        policy = find_policy(file)
    except SetupError as error:
        _complain(file, str(error), as_json=as_json)
        raise typer.Exit(1) from None
    wanted = policy.locale(locale or policy.default_locale)
    turns = list(_turns(messages or [], together=together))
    explained = _explained(turns, policy, wanted)
    if as_json:
        typer.echo(json.dumps(_report(file, policy, wanted, turns, explained)))
        return
    _print_policy(file, policy)
    for turn, each in zip(turns, explained, strict=True):
        _print(turn, each)


def _turns(given: Sequence[str], *, together: bool) -> Iterator[list[str]]:
    read = [line for each in given for line in (_lines() if each == "-" else [each])]
    if together and read:
        yield read
    elif not together:
        yield from ([each] for each in read)


def _lines() -> list[str]:
    """Return the lines of the standard input that are not blank; it is UTF-8."""
    text = sys.stdin.buffer.read().decode("utf-8", errors="surrogateescape")
    return [each.rstrip("\r") for each in text.split("\n") if each.strip()]


def _explained(turns: Sequence[Sequence[str]], policy: Policy, locale: str) -> list[Explanation]:
    compares = bool(turns and policy.scope.examples)
    examples = Examples(policy.scope, EmbeddedEncoder()) if compares else None

    async def explain_all() -> list[Explanation]:
        return [
            await explain(turn, policy=policy, locale=locale, examples=examples) for turn in turns
        ]

    return asyncio.run(explain_all())


def _complain(file: str, problem: str, *, as_json: bool) -> None:
    if as_json:
        report = {"policy": file, "ok": False, "problems": problem.splitlines()}
        typer.echo(json.dumps(report))
    else:
        note(problem, "red")


def _report(
    file: str,
    policy: Policy,
    locale: str,
    turns: Sequence[Sequence[str]],
    explained: Sequence[Explanation],
) -> dict[str, Any]:
    return {
        "policy": file,
        "ok": True,
        "name": policy.name,
        "locales": sorted(policy.texts),
        "rules": policy.rule_count,
        "locale": locale,
        "turns": [
            {"given": list(turn), **plain(each)}
            for turn, each in zip(turns, explained, strict=True)
        ],
    }


def _print_policy(file: str, policy: Policy) -> None:
    locales = ", ".join(sorted(policy.texts))
    STDOUT.print(literal(f"{file} is fine: {policy.rule_count} rules, texts in {locales}."))


def _print(turn: Sequence[str], explained: Explanation) -> None:
    verdict = explained.verdict
    STDOUT.print()
    for each in turn:
        STDOUT.print(literal(f"> {each}", "bold"))
    for step in explained.steps:
        _print_step(step)
    reason = f" ({verdict.reason})" if verdict.reason else ""
    STDOUT.print(literal(f"  verdict: {verdict.outcome}{reason}", "bold"))
    if verdict.review_reasons:
        STDOUT.print(literal(f"  a person reads the draft: {', '.join(verdict.review_reasons)}"))
    if verdict.fixed_text:
        STDOUT.print(literal(f"  text: {verdict.fixed_text}"))


def _print_step(step: Step) -> None:
    if step.decision is None:
        STDOUT.print(literal(f"  {step.check}: not made", "dim"))
        return
    reason = f" ({step.decision.reason})" if step.decision.reason else ""
    STDOUT.print(literal(f"  {step.check}: {step.decision.outcome}{reason}"))
    for section in step.sections:
        for finding in section.findings:
            for line in _told(finding):
                STDOUT.print(literal(f"    {section.name}.{line}", "dim"))
    if step.likeness is not None:
        like = step.likeness
        told = f"{like.nearness:.2f} near '{like.example}' (needed: {like.needed:.2f})"
        if like.counterexample is not None:
            told += f", {like.counter_nearness:.2f} near '{like.counterexample}'"
        STDOUT.print(literal(f"    scope.examples: {told}", "dim"))


def _told(finding: Finding[Rule]) -> Iterator[str]:
    rule = finding.rule.id
    yield f"{rule} {'trips' if finding.trips else 'does not trip'}"
    for each in finding.traces:
        spared = f", spared by '{each.spared_by}'" if each.spared_by else ""
        yield f"{rule}.{each.part}: \"{each.words}\" is '{each.phrase}'{spared}"
