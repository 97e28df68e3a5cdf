"""What the agent says by itself: its own texts, or the policy's under ``member_`` and their key."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import cast

import yaml

from turnwire.nodes.guardrails.policy import Policy


class Texts:
    """Fixed texts in the member's language."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def say(self, key: str, locale: str, **values: object) -> str:
        """Return a text with its fields filled in, in English where the language has none."""
        own = _shipped()
        known = own.get(locale) or own.get(locale.partition("-")[0]) or own["en"]
        replaced = self._policy.texts[self._policy.locale(locale)].get(f"member_{key}")
        shown = {name: str(value) for name, value in values.items()}
        return (replaced or known[key]).format_map(shown)

    def first(self, *keys: str) -> str:
        """Return the first of the keys that there is a text for; the last one is."""
        known = _shipped()["en"]
        return next(each for each in keys if each in known)

    def has(self, key: str) -> bool:
        """Whether there is such a text."""
        return key in _shipped()["en"]


@cache
def _shipped() -> Mapping[str, Mapping[str, str]]:
    text = (files("turnwire.agents.member") / "texts.yaml").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, str]]", yaml.safe_load(text))
