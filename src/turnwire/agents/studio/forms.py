"""Forms of messages: words, alternatives, and places for one word with a digit in it.

    read_form("release (order|purchase order) {order}").match("Please release order 4500001042!")

A form is found anywhere in a message, without regard to case and accents. It is compiled to a
pattern without nested repetition, so that no message takes long.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from turnwire.language import folded

_TOKEN: Final = re.compile(r"\{(\w+)\}|\(([^(){}]*)\)(\?)?|([^\s(){}]+)")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_VALUE: Final = r"[a-z_./-]{0,40}\d[a-z0-9_./-]{0,59}"
_BETWEEN: Final = re.compile(r"[^\w./-]+|\.(?!\w)")
_MOST: Final = 24


class FormInvalid(Exception):
    """A form that can't be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form, ready to be looked for."""

    pattern: re.Pattern[str]
    names: frozenset[str]

    def match(self, message: str) -> Mapping[str, str] | None:
        """Return the words that stand at the form's places, or none where it is not there."""
        words = " ".join(_BETWEEN.sub(" ", folded(message)).split())
        found = self.pattern.search(f" {words}")
        if found is None:
            return None
        return {name: value.upper() for name, value in found.groupdict().items()}


@cache
def read_form(text: str) -> Form:
    """Return the form that ``text`` writes.

    Raises:
        FormInvalid: it is none.
    """
    parts = list(_parts(text))
    if not parts or len(parts) > _MOST:
        raise FormInvalid(f"a form has 1 to {_MOST} words")
    names = re.findall(r"\{(\w+)\}", text)
    if len(set(names)) < len(names):
        raise FormInvalid("a name stands twice in the form")
    return Form(re.compile(rf"{''.join(parts)}(?= |$)"), frozenset(names))


def _parts(text: str) -> Iterator[str]:
    end = 0
    for found in _TOKEN.finditer(text):
        if text[end : found.start()].strip():
            raise FormInvalid(f"{text!r} has brackets that do not fit")
        end = found.end()
        name, options, optional, word = found.groups()
        if name is not None:
            if not _NAME.fullmatch(name):
                raise FormInvalid(f"{name!r} is no name")
            yield rf" (?P<{name}>{_VALUE})"
        elif options is not None:
            listed = [each.strip() for each in options.split("|")]
            if not all(listed):
                raise FormInvalid(f"{text!r} has an empty alternative")
            either = "|".join(re.escape(folded(each)) for each in listed)
            yield f"(?: (?:{either})){optional or ''}"
        else:
            yield f" {re.escape(folded(word))}"
    if text[end:].strip():
        raise FormInvalid(f"{text!r} has brackets that do not fit")
