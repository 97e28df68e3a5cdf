"""What a member is asked is one sentence in their language, whatever the arguments are."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from turnwire.nodes.tools.summaries import summary

ASKED = {"en": "Call you about: {reason} {when}", "es": "Llamarle por: {reason}"}


@pytest.mark.parametrize(
    ("locale", "arguments", "told"),
    [
        ("en", {"reason": "a bill"}, "Call you about: a bill"),
        ("es-MX", {"reason": "una factura"}, "Llamarle por: una factura"),
        ("fr", {"reason": "x", "when": "now"}, "Call you about: x now"),
        ("en", {"reason": "{when.__class__}"}, "Call you about: {when.__class__}"),
        ("en", {"reason": ["a", 1]}, 'Call you about: ["a", 1]'),
        ("en", {"reason": "a\n\n  b"}, "Call you about: a b"),
    ],
)
def test_a_summary_has_the_arguments_in_it(locale: str, arguments: dict[str, JsonValue], told: str):
    assert summary(ASKED, locale, arguments) == told


def test_a_long_argument_is_cut():
    assert len(summary(ASKED, "en", {"reason": "x" * 5000})) < 250


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"reason": "a bill"}, "Call you about: a bill"),
        ({"reason": "a bill", "when": "now"}, "Call you about: a bill (now)"),
        ({"reason": "[a {when}]"}, "Call you about: [a {when}]"),
    ],
)
def test_what_stands_in_brackets_is_left_out_without_its_argument(
    arguments: dict[str, JsonValue], told: str
):
    assert summary({"en": "Call you about: {reason}[ ({when})]"}, "en", arguments) == told


def test_an_argument_may_be_said_in_the_members_language_and_stays_what_it_is():
    arguments: dict[str, JsonValue] = {"country": "Spain", "floor": 2}
    words: dict[str, Callable[[str, str], str]] = {
        "country": lambda value, locale: f"{value} ({locale})",
        "floor": lambda _value, _locale: "?",
    }
    said = summary({"es": "A {country}, planta {floor}"}, "es", arguments, words)
    assert (said, arguments) == ("A Spain (es), planta 2", {"country": "Spain", "floor": 2})
