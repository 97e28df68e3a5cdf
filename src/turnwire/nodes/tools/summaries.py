"""What a member is asked about an action, in one sentence."""

import json
import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

_LONGEST = 200
_OPTIONAL = re.compile(r"\[([^\[\]]*\{\w+\}[^\[\]]*)\]")
_NAME = re.compile(r"\{(\w+)\}")


class _Values(dict[str, str]):
    """What stands for the names in braces; what was not given is left out."""

    def __missing__(self, name: str) -> str:
        return ""


def summary(
    templates: Mapping[str, str],
    locale: str,
    arguments: Mapping[str, JsonValue],
    in_words: Mapping[str, Callable[[str, str], str]] | None = None,
) -> str:
    """Return the sentence in the member's language, or the first there is.

    Args:
        templates: by locale; a name in braces stands for the argument of that name, and what
            stands in square brackets is left out where one of its arguments is.
        locale: BCP 47; of ``es-MX`` also ``es`` will do.
        arguments: as they may be shown.
        in_words: by argument, how it is said in a language.
    """
    template = (
        templates.get(locale)
        or templates.get(locale.partition("-")[0])
        or next(iter(templates.values()))
    )
    said = {
        name: in_words[name](each, locale)
        if in_words and name in in_words and isinstance(each, str)
        else each
        for name, each in arguments.items()
    }
    shown = _Values({name: _written(each) for name, each in said.items()})

    def optional(part: re.Match[str]) -> str:
        return part[1] if all(shown[each] for each in _NAME.findall(part[1])) else ""

    return " ".join(_OPTIONAL.sub(optional, template).format_map(shown).split())


def _written(value: JsonValue) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 1]}…"
