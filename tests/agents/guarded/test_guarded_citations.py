"""Citations of whole turns: what was streamed in pieces, what was said, what was reported."""

import asyncio
import random

import pytest

from tests.agents.guarded.stage import Run, Shelf, Stage
from tests.models.scripted import Scripted
from turnwire.events import CitationAdded, GuardrailDecided

FOUR = Shelf(
    (
        "Cover starts on the first of May.",
        "Claims are paid within ten working days of the last document.",
        "Dental surgery after an accident is covered.",
        "Road ambulance is paid up to $150.",
    )
)
ANSWER = (
    "Cover starts in May [1][5][7]. It is paid [0], [-1], [1,3], [\uff11]. "
    "“Claims are paid within ten working days” [2]. Use `a[1]` or:\n```\na[4]\n```\nSo be it"
)
HELD = ANSWER + " [" + "x" * 10_000


def turn(*pieces: str) -> Run:
    return asyncio.run(Stage(Scripted(script=list(pieces)), shelf=FOUR).ask("When does it start?"))


def cuts(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    places = sorted(chance.sample(range(1, len(text)), 40))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def spans(run: Run) -> list[tuple[int, str]]:
    said = [each.citation for each in run.said if isinstance(each, CitationAdded)]
    return [(c.marker, run.text[span.start : span.end]) for c in said for span in c.spans]


def reasons(run: Run) -> list[str | None]:
    said = [each.decision for each in run.said if isinstance(each, GuardrailDecided)]
    return [each.reason for each in said if each.check == "missing_citation"]


@pytest.mark.parametrize("text", [ANSWER, HELD, ANSWER + " [2"])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_however_an_answer_is_cut_its_citations_are_the_same_and_no_text_is_lost(
    text: str, seed: int | None
):
    run = turn(*(list(text) if seed is None else cuts(text, seed)))
    whole = turn(text)
    assert run.text == text
    assert run.cited == whole.cited == [1, 3, 2]
    assert spans(run) == spans(whole)
    assert reasons(run) == ["invented_citation"]


def test_what_the_conversation_keeps_is_what_was_said_live():
    run = turn(*ANSWER)
    live = [each.citation for each in run.said if isinstance(each, CitationAdded)]
    assert run.state["citations"] == [each.model_dump(mode="json") for each in live]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Claims are paid within thirty working days [2].", "unsupported_number"),
        ("Dental surgery after an accident is not covered [3].", "unsupported_negation"),
        ("Cover starts on 1 June [1].", "unsupported_date"),
        ("Road ambulance is paid by Mapfre [4].", "unsupported_name"),
        ("“Claims are paid within ten working days” [1].", "unfounded_quotation"),
    ],
)
def test_an_answer_that_its_passage_does_not_carry_is_reported_and_not_edited(
    answer: str, reason: str
):
    run = turn(answer)
    assert run.text == answer
    assert run.state["finish_reason"] == "insufficient_evidence"
    assert run.checks["missing_citation"] == "flag"
    assert reasons(run)[0] in (reason, "uncited")


def test_an_answer_that_its_passages_carry_ends_with_stop():
    run = turn("Claims are paid within 10 working days [2] and cover starts on 1 May [1].")
    assert (run.state["finish_reason"], reasons(run)) == ("stop", [None])
