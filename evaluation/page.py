"""The page about the evaluation, written from the committed record."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import yaml

from evaluation.cases import HALVES, LOCALES, Half, Locale
from evaluation.figures import FIGURES, Figure
from evaluation.record import Record, read, slice_name
from evaluation.scores import Rate

REASONS: Final = Path(__file__).with_name("reasons.yaml")
GUARDS_AIM_MS: Final = 15
_COLUMNS: Final[tuple[tuple[Half, Locale | None], ...]] = (
    ("held", None),
    ("held", "en"),
    ("held", "es"),
    ("tuned", None),
)
_NEEDS: Final = {"names.recall": "pii", "addresses.recall": "pii"}

_ABOUT: Final = """\
# Evaluation

How well the shipped agents decide, find and answer, on {cases} cases that were written for it.
`make eval` runs them; `python -m evaluation.run --write` makes a run the record that this page and `make check` go by, and `make check` fails where a figure falls below the record by more than its margin.

The cases are synthetic and no sample of real traffic: they were written to be hard in known ways, by somebody who knew the names of the rules that they test and not their phrases, and no clinician has reviewed them.
A hash of each case's id puts it in the tuned half, whose failures may be looked at and mended, or in the held-back half, which is only run.
Each rate stands with its 95 % interval (Wilson) and its counts: with halves of this size, a difference within the intervals says nothing."""

_MEANING: Final = """\
- **Emergencies, high risks, scope, injections**: the guardrails' verdict on a single message, by the shipped rules, without a judge. What is out of scope and passes the rules may still find no passage: *by the whole turn* counts that too. *Fair messages* are near-misses: denials, past events, figures of speech, questions about prevention. A high risk counts as seen to where a person reads the draft first or the member is told to call for help.
- **Private details**: a detail counts as taken out where its whole value is, whatever it is called; *under its kind* says how often the name was right too.
- **Names and addresses** count where no word of theirs is left; of an address, street and number.
- **hit@k, reciprocal rank**: the place of the first passage from the leaflet that answers, in the member's language, among the passages that the search kept. *In either language* counts its twin too.
- **Answered**: the turn ended with an answer that cites. **Refused**: it ended with the fixed text that there is no answer. *With the fact*: the answer holds the words of the leaflet that were marked as answering; this is the figure that says whether an answer is right.
- **Citations**: the quoting model quotes word for word, so its figures say only that each marker points at the passage which holds the sentence before it; they say nothing about whether the sentence fits the question. With a model, a passage supports a sentence when it has all of its numbers and seven of ten of its longer words, a stand-in for entailment that misses a turned meaning."""


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    records = read()
    offline = records.get("offline")
    if offline is None:
        raise ValueError("there is no record; run: python -m evaluation.run --write")
    cases = sum(count for each in offline.sizes.values() for count in each.values())
    yield from _ABOUT.format(cases=cases).splitlines()
    yield from ("", "## Aims", "")
    yield from _aims(records)
    yield from ("", "## The sets", "")
    yield from _sizes(offline)
    for name, each in records.items():
        yield from ("", f"## Configuration `{name}`", "")
        yield from _figures(each)
    absent = [f"`{each}`" for each in ("pii", "model") if each not in records]
    if absent:
        yield from ("", f"Not run for this page: {', '.join(absent)}.")
    if "pii" in records:
        yield ""
        yield (
            "The held-back figure for addresses flatters: it was 7 of 9 at the first run, and the "
            "rules were then widened by common forms (numbered streets, boxes, streets in small "
            "letters), without a look at its cases, before the run that is shown."
        )
        yield ""
    if "model" not in records:
        yield "No language model was run: what one answers, and what it costs, is not measured here."
    yield from ("", "## What the figures mean", "")
    yield from _MEANING.splitlines()


def _aims(records: Mapping[str, Record]) -> Iterator[str]:
    reasons = cast("dict[str, str]", yaml.safe_load(REASONS.read_text("utf-8")))
    yield "All of the held-back half, both languages."
    yield ""
    yield "| figure | configuration | aim | held-back half | |"
    yield "|---|---|---|---|---|"
    for figure in FIGURES:
        if figure.aim is None:
            continue
        name = _NEEDS.get(figure.key, "offline")
        sign = "≤" if figure.less_is_better else "≥"
        known = f"| {figure.title} | `{name}` | {sign} {figure.aim:.2f}"
        rate = _held(records.get(name), figure)
        yield f"{known} | {_shown(rate)} | {_verdict(figure, rate, reasons)} |"
    ms = records["offline"].guards_ms
    met = "met" if ms.p50 <= GUARDS_AIM_MS else f"**missed**: {_reason(reasons, 'guards.p50')}"
    yield (
        f"| guardrails before the answer, a message, p50 | `offline` | ≤ {GUARDS_AIM_MS} ms "
        f"| {ms.p50:.1f} ms (p95 {ms.p95:.1f} ms) on the machine of the run | {met} |"
    )


def missed(records: Mapping[str, Record]) -> list[str]:
    """Return the keys of the aims that the records miss."""
    keys = [
        each.key
        for each in FIGURES
        if (value := _held(records.get(_NEEDS.get(each.key, "offline")), each).value) is not None
        and not each.is_met(value)
    ]
    offline = records.get("offline")
    slow = offline is not None and offline.guards_ms.p50 > GUARDS_AIM_MS
    return [*keys, "guards.p50"] if slow else keys


def _held(record: Record | None, figure: Figure) -> Rate:
    measured = record.figures.get(figure.key) if record else None
    return measured.rate("held", None) if measured else Rate(0, 0)


def _verdict(figure: Figure, rate: Rate, reasons: Mapping[str, str]) -> str:
    if rate.value is None:
        return "not run"
    return "met" if figure.is_met(rate.value) else f"**missed**: {_reason(reasons, figure.key)}"


def _reason(reasons: Mapping[str, str], key: str) -> str:
    return reasons.get(key, "the reason is not known yet")


def _sizes(record: Record) -> Iterator[str]:
    slices = [slice_name(half, locale) for half in HALVES for locale in LOCALES]
    yield "| set | " + " | ".join(each.replace(".", " half, ") for each in slices) + " |"
    yield "|---|" + "---|" * len(slices)
    for name, sizes in record.sizes.items():
        yield f"| `{name}` | " + " | ".join(str(sizes[each]) for each in slices) + " |"


def _figures(record: Record) -> Iterator[str]:
    yield "| figure | held, both | held, en | held, es | tuned, both | margin, cases |"
    yield "|---|---|---|---|---|---|"
    for figure in FIGURES:
        measured = record.figures.get(figure.key)
        if measured is None:
            continue
        shown = " | ".join(_shown(measured.rate(*each)) for each in _COLUMNS)
        yield f"| {figure.title} | {shown} | {measured.margin} |"


def _shown(rate: Rate) -> str:
    if rate.value is None:
        return "–"  # noqa: RUF001 - an en dash on purpose
    low, high = rate.interval()
    return f"{rate.value:.2f} [{low:.2f}, {high:.2f}] {rate.hits:.4g}/{rate.of}"
