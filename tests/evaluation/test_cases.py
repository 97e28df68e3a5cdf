from pathlib import Path

import pytest
from pydantic import ValidationError
from stdnum import iban, luhn

from evaluation.cases import SETS, VerdictCase, load
from evaluation.product import leaflets
from evaluation.scores import holds

ALL = load()
DETAILS = [each for case in ALL.details for each in case.hides]


def copied(folder: Path, name: str, text: str) -> Path:
    for each in SETS.glob("*.yaml"):
        (folder / each.name).write_text(each.read_text("utf-8"), "utf-8")
    (folder / name).write_text(text, "utf-8")
    return folder


def test_there_are_hundreds_of_cases_and_about_as_many_in_each_language():
    sizes = {
        locale: sum(
            count
            for each in ALL.sizes().values()
            for name, count in each.items()
            if name.endswith(locale)
        )
        for locale in ("en", "es")
    }
    assert min(sizes.values()) >= 300
    assert abs(sizes["en"] - sizes["es"]) <= 0.05 * sizes["en"]


def test_the_half_of_a_case_never_changes():
    halves = [
        VerdictCase(id=f"verdict-en-{n:03}", text="x", expect="proceed").half for n in range(1, 7)
    ]
    assert halves == ["held", "held", "tuned", "held", "held", "held"]


def test_what_a_message_hides_stands_in_it():
    for case in (*ALL.details, *ALL.names):
        assert [each for each in case.hides if each.value not in case.text] == [], case.id


def test_the_cards_and_ibans_pass_their_checks():
    def compact(value: str) -> str:
        return "".join(each for each in value if each.isalnum())

    cards = [compact(each.value) for each in DETAILS if each.kind == "CARD"]
    accounts = [compact(each.value) for each in DETAILS if each.kind == "IBAN"]
    assert [each for each in cards if not luhn.is_valid(str(int(each)))] == []
    assert [each for each in accounts if not iban.is_valid(each, check_country=False)] == []


def test_the_words_that_answer_stand_in_the_leaflet():
    for case in ALL.questions:
        texts = [
            (leaflets() / case.locale / f"{each}.md").read_text("utf-8") for each in case.documents
        ]
        lost = [each for each in case.facts if not any(holds(text, each) for text in texts)]
        assert lost == [], case.id
        assert bool(case.facts) == bool(case.documents), case.id


def test_every_leaflet_is_asked_about_in_both_languages():
    asked = {f"{case.locale}/{each}" for case in ALL.questions for each in case.documents}
    assert asked == {f"{each.parent.name}/{each.stem}" for each in leaflets().glob("*/*.md")}


def test_other_words_are_other_sets():
    assert ALL.digest() == load().digest()
    assert ALL.of("held").digest() != ALL.digest()


def test_two_cases_with_one_id_are_refused(tmp_path: Path):
    twins = '- {id: verdict-en-001, expect: proceed, text: "a"}\n' * 2
    with pytest.raises(ValueError, match="verdict-en-001"):
        load(copied(tmp_path, "verdicts.en.yaml", twins))


def test_a_case_in_the_file_of_another_language_is_refused(tmp_path: Path):
    stray = '- {id: verdict-es-901, expect: proceed, text: "a"}\n'
    with pytest.raises(ValueError, match="another language"):
        load(copied(tmp_path, "verdicts.en.yaml", stray))


def test_a_case_with_a_field_that_nobody_knows_is_refused(tmp_path: Path):
    odd = '- {id: verdict-en-001, expect: proceed, text: "a", half: tuned}\n'
    with pytest.raises(ValidationError, match="half"):
        load(copied(tmp_path, "verdicts.en.yaml", odd))
