"""Private details put back into an answer while it streams."""

import re
from collections.abc import Mapping


class Restorer:
    """Puts originals back for placeholders such as ``[PHONE_1]``, however they are cut.

    Held back is only what may still become a placeholder of the mapping, so never more than the
    longest one.
    """

    __slots__ = ("_beginnings", "_form", "_held", "_mapping")

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = dict(mapping)
        self._form = re.compile("|".join(re.escape(each) for each in mapping))
        self._beginnings = {each[:end] for each in mapping for end in range(1, len(each))}
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what can be said now of ``text`` and what was held back."""
        if not self._mapping or not (self._held or "[" in text):
            return text
        text = self._form.sub(lambda found: self._mapping[found[0]], self._held + text)
        opening = text.rfind("[")
        if opening >= 0 and text[opening:] in self._beginnings:
            text, self._held = text[:opening], text[opening:]
        else:
            self._held = ""
        return text

    def flush(self) -> str:
        """Return what is still held back, at the end of the text."""
        held, self._held = self._held, ""
        return held
