"""Names and addresses are found by how people write them; ordinary capitals are not."""

import pytest

from tests.growth import assert_linear
from turnwire.nodes.guardrails.pii import redact
from turnwire.nodes.guardrails.pii_name_rules import names_by_rule
from turnwire.nodes.guardrails.pii_names import names_finder


def without(text: str) -> str:
    return redact(text, names=lambda each: names_by_rule(each, {"PERSON", "ADDRESS"})).text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("My name is Ana Gómez and", "My name is [PERSON_1] and"),
        ("me llamo José Luis de la Torre, y", "me llamo [PERSON_1], y"),
        ("my wife Ada has", "my wife [PERSON_1] has"),
        ("mi hija Nerea Ibarra tose", "mi hija [PERSON_1] tose"),
        ("Ask Dr. Ortega", "Ask Dr. [PERSON_1]"),
        ("Kind regards,\nAda O'Neill", "Kind regards,\n[PERSON_1]"),
        ("póngalo a nombre de Íñigo Bosch", "póngalo a nombre de [PERSON_1]"),
        ("llama a Lucía Ferrer mañana", "llama a [PERSON_1] mañana"),
    ],
)
def test_people_are_found_by_what_stands_before_them(text: str, read: str):
    assert without(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("to 12 Baker Street, London NW1 6XE.", "to [ADDRESS_1]."),
        ("at 1600 Elm Avenue, Apt 4, Springfield, IL 62704", "at [ADDRESS_1]"),
        ("Flat 3, 12 King's Road, Brighton BN1 1NE", "[ADDRESS_1]"),
        ("to 350 W 5th Avenue", "to [ADDRESS_1]"),
        ("at 14 elm tree road please", "at [ADDRESS_1] please"),
        ("PO Box 1234 or apartado de correos 55", "[ADDRESS_1] or [ADDRESS_2]"),
        ("vivo en la calle Mayor 5, 28013 Madrid", "vivo en la [ADDRESS_1]"),
        ("a la Avda. de la Paz, 14, 2º B", "a la [ADDRESS_1]"),
        ("Paseo de Gracia 55, 08007 Barcelona", "[ADDRESS_1]"),
    ],
)
def test_addresses_are_found_with_their_number_and_town(text: str, read: str):
    assert without(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "I am tired. Is it May or June?",
        "I walk 30 minutes down the road, 2 times",
        "la Seguridad Social y la Cruz Roja",
        "my husband is ill; mi madre tiene 80 años",
        "Take 2 Paracetamol 500 mg",
        "¿Qué es la Vitamina B12?",
    ],
)
def test_ordinary_texts_are_left_alone(text: str):
    assert without(text) == text


@pytest.mark.parametrize("unit", ["calle a ", "Aa ", "1 Aa ", "my wife Aa de ", "C/ a a "])
def test_the_time_to_read_a_hostile_text_is_linear_in_it(unit: str):
    assert_linear(without, lambda times: unit * times, 500)


def test_spanish_names_are_found_without_a_spanish_model():
    found = names_finder("es-MX", {"PERSON"})("me llamo Ana Gómez")

    assert {(each.kind, each.start, each.end) for each in found} == {("PERSON", 9, 18)}
