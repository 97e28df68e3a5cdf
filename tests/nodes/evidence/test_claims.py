"""What an answer claims is held against the passage that it cites."""

from pathlib import Path

import pytest

from turnwire import corpora
from turnwire.events import Passage
from turnwire.nodes.evidence.citations import find_citations
from turnwire.nodes.evidence.source import Source
from turnwire.retrieval.loaders import load
from turnwire.retrieval.splitter import sentences

PASSAGE = (
    "A fever in an adult is a temperature of 38 °C or higher. Adults should drink 1.5 litres of "
    "water, or six to eight glasses, twice a day. The dose is 1,500 mg at most. "
    "Blood pressure tablets should not be stopped without advice. Cold baths are not recommended "
    "because shivering makes the body warmer. Wait 15 minutes. Cover began on 10 February 2026. "
    "Most fevers last three days. Paracetamol can lower a fever. Eat less than 5 grams of salt. "
    "Travellers ask at least four weeks before departure, by 10 am."
)
PASAJE = (
    "La fiebre en adultos es una temperatura de 38 °C o más. Se recomiendan 1,5 litros de agua, de "
    "seis a ocho vasos, dos veces al día. La dosis es de 1.500 mg como máximo. No deje las "
    "pastillas de la tensión sin consultar. Espere quince minutos. La póliza empezó el 10 de "
    "febrero de 2026. La siesta dura once minutos. Coma menos de 5 gramos de sal. Son treinta y "
    "cinco grados. Los antibióticos no curan un resfriado causado por virus."
)


def source(number: int, text: str, locale: str | None = "en") -> Source:
    return Source(
        passage=Passage(
            index=number,
            id=f"psg-{number}",
            title="Leaflet",
            document_id="doc",
            document_name="Leaflet",
            score=0.5,
            snippet="",
            source="c",
            locale=locale,
            date="2026-03-01",
        ),
        text=text,
    )


def kinds(text: str, *evidence: Source) -> list[str]:
    return [each.kind for each in find_citations(text, evidence).unsupported]


@pytest.mark.parametrize(
    "said",
    [
        "A fever is 38 degrees Celsius or above [1].",
        "Drink 1,5 litres [1].",
        "Drink 1500 ml of water [1].",
        "Drink 6-8 glasses [1].",
        "Drink 6 to 8 glasses 2 times a day [1].",
        "The dose is up to 1500 mg [1].",
        "The dose is 1.5 g at most [1].",
        "Never stop blood pressure tablets without advice [1].",
        "Cold baths should be avoided [1].",
        "Shivering makes the body warmer [1].",
        "Wait a quarter of an hour, or fifteen minutes [1].",
        "Wait 15-minute periods [1].",
        "It began on 2026-02-10 [1].",
        "It began on February 10th, 2026 [1].",
        "It began in February 2026 [1].",
        "Most fevers last 72 hours [1].",
        "According to the leaflet, paracetamol lowers a fever [1].",
        "No more than 5 g of salt [1].",
        "Ask 4 weeks before, no later than 10:00 [1].",
        "There are two ways: rest and drink [1].",
        "1. Rest [1].\n2. Drink [1].",
        "The leaflet of 1 March 2026 says to rest [1].",
        "I found no leaflet about dogs, Sir Robert.",
    ],
)
def test_what_a_passage_carries_in_other_words_is_not_reported(said: str):
    assert kinds(said, source(1, PASSAGE)) == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("A fever is 39 °C or higher [1].", "number"),
        ("A fever is 38 °F or higher [1].", "number"),
        ("Drink 15 litres [1].", "number"),
        ("Drink seven glasses [1].", "number"),
        ("Drink eight cups [1].", "number"),
        ("Drink it three times a day [1].", "number"),
        ("The dose is 15,000 mg at most [1].", "number"),
        ("The dose is at least 1,500 mg [1].", "comparison"),
        ("Eat more than 5 grams of salt [1].", "comparison"),
        ("Ask at most four weeks before departure [1].", "comparison"),
        ("Wait 15 hours [1].", "number"),
        ("Wait ten minutes [1].", "number"),
        ("It began on 11 February 2026 [1].", "date"),
        ("It began on 10 February 2025 [1].", "date"),
        ("It began on 10 March [1].", "date"),
        ("Ask by 10 pm [1].", "date"),
        ("Take some Tylenol for a fever [1].", "name"),
        ("The WHO says that paracetamol helps [1].", "name"),
        ("Blood pressure tablets should be stopped without advice [1].", "negation"),
        ("Cold baths are recommended [1].", "negation"),
        ("Paracetamol can not lower a fever [1].", "negation"),
        ("Paracetamol doesn\u2019t lower a fever [1].", "negation"),
        ("Most fevers last 9 days.", "number"),
    ],
)
def test_what_a_passage_does_not_carry_is_reported_with_its_kind(said: str, kind: str):
    assert kind in kinds(said, source(1, PASSAGE))


@pytest.mark.parametrize(
    "said",
    [
        "Beba 1.5 litros de agua [1].",
        "Tome 2 veces al día de 6 a 8 vasos [1].",
        "La dosis máxima es de 1500 mg [1].",
        "La siesta dura 11 minutos [1].",
        "Son 35 grados [1].",
        "Empezó el 10/02/2026 [1].",
        "Los antibióticos no curan los resfriados [1].",
        "Nunca deje las pastillas de la tensión sin consultar [1].",
        "A fever is a temperature of 38 °C or higher, says the leaflet [1].",
        "Take no more than 1,500 mg [1].",
    ],
)
def test_spanish_is_read_and_compared_with_english(said: str):
    assert kinds(said, source(1, PASAJE, "es")) == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Beba 15 litros de agua [1].", "number"),
        ("Tome dos vasos tres veces al día [1].", "number"),
        ("La dosis es de al menos 1500 mg [1].", "comparison"),
        ("Son veinticinco grados [1].", "number"),
        ("Empezó el 10 de marzo de 2026 [1].", "date"),
        ("Tome una pastilla de Frenadol [1].", "name"),
        ("Los antibióticos curan un resfriado causado por virus [1].", "negation"),
        ("Deje las pastillas de la tensión sin consultar [1].", "negation"),
        ("Wait fourteen minutes before you drink [1].", "number"),
    ],
)
def test_a_changed_claim_is_found_in_spanish(said: str, kind: str):
    assert kind in kinds(said, source(1, PASAJE, "es"))


def test_the_report_points_at_the_words_of_the_answer():
    text = "Rest well [1]. A fever is 39 °C or more [1]."
    (found,) = find_citations(text, [source(1, PASSAGE)]).unsupported
    assert text[found.start : found.end] == "39 °C"


def test_a_figure_of_another_passage_does_not_count_for_the_one_that_is_cited():
    evidence = (source(1, "Naps last 30 minutes."), source(2, "Coffee acts for six hours."))
    assert kinds("Naps last 30 minutes [1] and coffee six hours [2].", *evidence) == []
    assert kinds("Naps last 30 minutes [2] and coffee six hours [1].", *evidence) == [
        "number",
        "number",
    ]
    assert kinds("Naps last 30 minutes [1][2].", *evidence) == []


def test_what_cites_nothing_is_held_against_all_passages():
    evidence = (source(1, "Naps last 30 minutes."), source(2, "Coffee acts for six hours."))
    assert kinds("Coffee acts for six hours. Naps help [1].", *evidence) == []


def test_figures_in_code_are_not_claims():
    assert kinds("Run `sleep 99` first [1].\n```\nx = 77\n```", source(1, PASSAGE)) == []


def test_without_evidence_there_is_nothing_to_hold_a_claim_against():
    assert kinds("A fever is 39 °C.") == []


def test_no_sentence_of_the_shipped_leaflets_is_reported_when_it_is_quoted():
    reported: list[str] = []
    for path in sorted((Path(corpora.__file__).parent / "health").rglob("*.md")):
        document = load(path)
        for section in document.sections:
            evidence = source(1, section.text, document.locale)
            reported += [
                said
                for said in sentences(section.text)
                if find_citations(f"{said} [1]", [evidence]).unsupported
            ]
    assert reported == []
