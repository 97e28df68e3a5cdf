"""What a tool returned, in sentences that are the same each time, for the member's language."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

import yaml
from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal, get_currency_symbol
from babel.units import format_unit
from pydantic import JsonValue

from turnwire.agents.member.addresses import country_in
from turnwire.language import folded
from turnwire.nodes.guardrails.rules import Strict
from turnwire.nodes.guardrails.sections import Locale as LocaleTag

MOST: Final = 8
"""Items of a list that are told."""
_LONGEST: Final = 300
"""Characters of one field."""
_ENDING: Final = 3
"""Characters of a number that is told by its end alone."""

_FIELD: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_OPTIONAL: Final = re.compile(r"\[([^\[\]]*)\]")
_REGIONS: Final = {"en": "en_GB"}
_CURRENCIES: Final = re.compile(r"[A-Z]{3}")


class _Sentence(Strict):
    say: str
    when: Mapping[str, JsonValue] = {}
    about: tuple[str, ...] = ()
    """Folded words of a question that this sentence answers."""


class _Told(Strict):
    tools: Mapping[str, Mapping[LocaleTag, tuple[_Sentence, ...]]]
    words: Mapping[LocaleTag, Mapping[str, str | Mapping[str, str]]]
    """What stands for a word; by plural category (CLDR) where it is counted."""
    named: Mapping[str, str]
    """What members call the thing of a name."""


def sentences(tool: str, result: JsonValue, *, locale: str, question: str = "") -> list[str]:
    """Return what a result says, one text an item; a tool without templates is told as it is.

    At most :data:`MOST` items are told; none where the result is empty. Where sentences answer
    the question, no others are told.
    """
    items: Sequence[JsonValue] = result if isinstance(result, list) else [result]
    told = [_item(tool, each, locale, folded(question)) for each in items[:MOST]]
    return [each for each in told if each]


def named(name: str, locale: str) -> str:
    """Return a name with its translation and what members call the thing."""
    return f"{name} {_word(name, locale)} {_told().named.get(name, '')}"


def is_one(count: int, locale: str) -> bool:
    """Whether the language says so many in the singular."""
    return Locale.parse(_REGIONS.get(locale, locale)).plural_form(count) == "one"


def _item(tool: str, item: JsonValue, locale: str, question: str) -> str:
    by_locale = _told().tools.get(tool, {})
    templates = by_locale.get(locale) or by_locale.get("en")
    if templates is None or not isinstance(item, dict):
        return _plainly(item)
    fitting = [each for each in templates if _holds(each.when, item)]
    asked = [each for each in fitting if any(word in question for word in each.about)]
    said = (_filled(each.say, item, locale) for each in asked or fitting)
    return " ".join(each for each in said if each)


def _holds(when: Mapping[str, JsonValue], item: Mapping[str, JsonValue]) -> bool:
    return all(item.get(name) == value for name, value in when.items())


def _filled(template: str, item: Mapping[str, JsonValue], locale: str) -> str:
    def optional(part: re.Match[str]) -> str:
        told = [item.get(each[1]) for each in _FIELD.finditer(part[1])]
        return part[1] if any(told) and not any(each in (None, "") for each in told) else ""

    template = _OPTIONAL.sub(optional, template)
    if any(item.get(each[1]) is None for each in _FIELD.finditer(template)):
        return ""
    return _FIELD.sub(lambda each: _shown(item, each[1], each[2], locale), template)


def _shown(item: Mapping[str, JsonValue], name: str, form: str | None, locale: str) -> str:
    value, region = item[name], _REGIONS.get(locale, locale)
    if isinstance(value, str):
        return _text(value, form, locale, region)
    match form, value:
        case "money", int() | float():
            return _money(value, str(item.get("currency") or "GBP"), region)
        case "amount", int() | float():
            return _amount(value, str(item.get("unit") or ""), locale, region)
        case "months", int() | float():
            return format_unit(value, "duration-month", locale=region)
        case "address", dict():
            parts = [*(value.get(each) for each in ("line1", "line2", "city"))]
            line = ", ".join(_short(each) for each in parts if each)
            country = country_in(str(value.get("country") or ""), locale)
            return f"{line} {_short(value.get('postcode') or '')}, {country}".strip(" ,")
        case "list", list():
            return format_list([_short(each) for each in value], locale=region)
        case _, int() | float() if not isinstance(value, bool):
            return format_decimal(value, locale=region)
        case _:
            return _short(value)


def _text(value: str, form: str | None, locale: str, region: str) -> str:
    match form:
        case "date":
            return _date(value, region)
        case "word":
            return _word(value, locale)
        case "ending":
            return value[-_ENDING:]
        case "within":
            word = _word(value, locale)
            return word[:1].lower() + word[1:] if word[1:2].islower() else word
        case _:
            return _short(value)


def _amount(value: float, unit: str, locale: str, region: str) -> str:
    if _CURRENCIES.fullmatch(unit):
        return _money(value, unit, region)
    number = format_decimal(value, locale=region)
    return f"{number} {_word(unit, locale, count=value)}".strip()


def _word(word: str, locale: str, *, count: float | None = None) -> str:
    """Return what stands for a word, in its plural for a count."""
    known = _told().words.get(locale, {}).get(word, _short(word))
    if isinstance(known, str):
        return known
    return known["one" if count is not None and is_one(int(count), locale) else "other"]


def _money(value: float, currency: str, region: str) -> str:
    pattern: Any = cast("Any", Locale.parse(region).currency_formats)["standard"]
    # As people write it, also where the language is not the currency's own: 600 £, not 600 GBP.
    form = str(pattern.pattern).replace("¤", f"'{get_currency_symbol(currency, 'en')}'")
    if float(value).is_integer():
        form = form.replace(".00", "")
    return format_currency(value, currency, form, locale=region, currency_digits=False)


def _date(value: str, region: str) -> str:
    try:
        return format_date(date.fromisoformat(value[:10]), "long", locale=region)
    except ValueError:
        return _short(value)


def _plainly(item: JsonValue) -> str:
    if isinstance(item, dict):
        known = ((name, each) for name, each in item.items() if each not in (None, "", [], {}))
        return "; ".join(f"{name}: {_short(each)}" for name, each in known)
    return "" if item is None else _short(item)


def _short(value: JsonValue) -> str:
    written = " ".join(str(value).split())
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 1]}…"


@cache
def _told() -> _Told:
    text = (files("turnwire.agents.member") / "sentences.yaml").read_text(encoding="utf-8")
    return _Told.model_validate(yaml.safe_load(text))
