"""A policy is read whole, or the operator learns which line to mend and how."""

from pathlib import Path

import pytest

from turnwire.errors import SetupError
from turnwire.nodes.guardrails.policy import (
    REQUIRED_TEXTS,
    load_policy,
    parse_policy,
    shipped_policy,
)

TEXTS = "\n".join(f"    {key}: text of {key}" for key in REQUIRED_TEXTS)
SMALL = f"""name: small
default_locale: en
escalation:
  - id: fire
    severity: acute
    phrases:
      - there is fire
texts:
  en:
{TEXTS}
"""


def complaint(text: str) -> str:
    with pytest.raises(SetupError) as raised:
        parse_policy(text, name="small.yaml")
    return str(raised.value)


def test_a_small_policy_is_read_with_its_defaults():
    policy = parse_policy(SMALL, name="small.yaml")

    assert policy.limits.max_characters == 8_000
    assert policy.pii.action == "redact"
    assert policy.stream_policy == "hold"
    assert policy.text("refusal", "en-GB") == "text of refusal"


@pytest.mark.parametrize("name", ["health", "insurance", "docs"])
def test_a_shipped_policy_speaks_english_and_spanish(name: str):
    policy = shipped_policy(name)

    assert set(policy.texts) == {"en", "es"}
    assert set(policy.texts["en"]) == set(policy.texts["es"])
    assert policy.text("persona", "es-ES").startswith("Eres")


def test_an_unknown_shipped_policy_is_answered_with_the_list():
    with pytest.raises(SetupError, match="docs, health, insurance"):
        shipped_policy("law")


def test_a_file_is_loaded_from_its_path(tmp_path: Path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")

    assert load_policy(path).name == "small"


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(SetupError, match=r"absent\.yaml: the policy cannot be read"):
        load_policy(tmp_path / "absent.yaml")


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path):
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: caf\xe9")

    with pytest.raises(SetupError, match="not UTF-8"):
        load_policy(path)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("severity: acute", "severity: grave", "small.yaml:5: escalation.0.severity: "),
        ("severity: acute", "sevrity: acute", "small.yaml:5: escalation.0.sevrity: this key is"),
        ("    severity: acute\n", "", "small.yaml:4: escalation.0.severity: this key is missing"),
        ("- there is fire", "- (there is fire", "small.yaml:7: escalation.0.phrases.0: the phrase"),
        ("- there is fire", "- no", "small.yaml:7: escalation.0.phrases.0: this has to be text"),
        ("  - id: fire", "  - id: Fire!", "small.yaml:4: escalation.0.id: "),
        ("name: small", "name: small\nname: big", "small.yaml:2: 'name' is given twice"),
        ("name: small", "name: [small", "small.yaml:2: "),
        ("    refusal: text of refusal\n", "", "texts.en lacks refusal; add them"),
        ("default_locale: en", "default_locale: es", "texts has no 'es'"),
        ("    severity: acute", "    severity: acute\n    text: fire", "texts.en lacks fire"),
    ],
)
def test_a_mistake_is_pointed_at(before: str, after: str, expected: str):
    assert before in SMALL

    assert expected in complaint(SMALL.replace(before, after))


def test_several_mistakes_are_told_at_once():
    broken = SMALL.replace("severity: acute", "severity: grave").replace("name: small", "nam: s")

    assert complaint(broken).count("small.yaml:") == 3


@pytest.mark.parametrize("text", ["", "- a list", "just words", "a: &a [*a]"])
def test_what_is_no_policy_at_all_is_a_setup_error(text: str):
    assert complaint(text).startswith("small.yaml:1: ")


def test_adding_a_locale_is_adding_its_texts():
    german = parse_policy(SMALL + "  de:\n" + TEXTS.replace("text of", "Text von"), name="s")

    assert german.text("refusal", "de-AT") == "Text von refusal"
