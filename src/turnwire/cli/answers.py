"""What a person answers to a pause, asked for in the terminal."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from turnwire.cli.output import STDERR, literal, note

AS_MEMBER: Final = "turnwire chat --wire answer --agent member"
"""What to type where only a member can go on."""
_DECISIONS: Final = ("approve", "edit", "reject")


def ask(prompt: str) -> str | None:
    """Return the line that the person types, or none where there are no more lines."""
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return input(prompt)
        STDERR.print(literal(prompt), end="")
        return input()
    except EOFError:
        return None


def answer_to(
    paused: Mapping[str, Any], *, may_review: Callable[[], bool]
) -> dict[str, Any] | None:
    """Return the body of ``POST /chat/resume`` for a ``paused`` frame, or none to let it wait.

    Args:
        paused: the frame's body, which the person has read.
        may_review: whether this person may decide a review.
    """
    try:
        if paused.get("review"):
            return _decide(paused) if _allowed(may_review) else None
        return _give(paused)
    except KeyboardInterrupt:
        note("")
        return None


def value(schema: object) -> object:
    """Return what the person answers to a question, or none to let it wait."""
    if schema:
        note(f"An answer has to pass: {json.dumps(schema)}")
    said = ask("answer (JSON or text): ") or ""
    return _value(said) if said.strip() else None


def _allowed(may_review: Callable[[], bool]) -> bool:
    allowed = may_review()
    if not allowed:
        note("A reviewer decides; your key lacks the scope 'review'.")
    return allowed


def _decide(paused: Mapping[str, Any]) -> dict[str, Any] | None:
    about = {"thread_id": paused["thread_id"], "review_id": paused["review"]["review_id"]}
    while said := (ask("approve, edit or reject? ") or "").strip().lower():
        found = [each for each in _DECISIONS if each.startswith(said)]
        if not found:
            note("Type approve, edit or reject; nothing lets it wait.")
            continue
        decided: dict[str, Any] = {**about, "decision": found[0]}
        if found[0] != "edit":
            return decided
        text = _text()
        if text.strip():
            return {**decided, "edited_text": text}
        note("The new text is empty; decide again.")
    return None


def _text() -> str:
    note("The new text; a line with only a dot ends it.")
    lines: list[str] = []
    while (line := ask("| ")) not in (None, "."):
        lines.append(str(line))
    return "\n".join(lines)


def _give(paused: Mapping[str, Any]) -> dict[str, Any] | None:
    answers: dict[str, Any] = {}
    for each in paused.get("pauses", ()):
        if each.get("kind") != "input":
            note(f"Here nobody can answer a {each.get('kind')}; members do: {AS_MEMBER}")
            return None
        given = value(each.get("response_schema"))
        if given is None:
            return None
        answers[str(each["pause_id"])] = given
    return {"thread_id": paused["thread_id"], "answers": answers}


def _value(said: str) -> object:
    try:
        return json.loads(said)
    except ValueError:
        return said
