"""Private details in documents: taken out, or left out with their passage, before the index."""

import json
from dataclasses import dataclass
from typing import Final

from turnwire.nodes.guardrails.pii import find
from turnwire.nodes.guardrails.pii_rules import PiiRules

# Part of every fingerprint: raise it when more, or less, is found in a text.
_FINDING: Final = "1"


@dataclass(frozen=True, slots=True)
class DocumentScreen:
    """What the sink ``index`` of a policy makes of a document's texts."""

    rules: PiiRules
    locale: str
    """Of documents that do not tell theirs."""

    @property
    def fingerprint(self) -> str:
        """What the screened texts depend on."""
        masking = self.rules.masking("index")
        looked_for = {kind: masking.actions[kind] for kind in sorted(masking.kinds)}
        return json.dumps([_FINDING, looked_for, sorted(masking.regions), self.locale])

    def screen(self, text: str, *, locale: str | None, left_out: str) -> str:
        """Return ``text`` with marks such as ``[EMAIL]``, and ``left_out`` for what is blocked."""
        masking = self.rules.masking("index")
        spans = find(
            text,
            kinds=masking.kinds,
            regions=masking.regions,
            names=self.rules.names("index", locale or self.locale),
        )
        parts: list[str] = []
        last = 0
        for each in spans:
            blocked = masking.actions[each.kind] == "block"
            parts += (text[last : each.start], left_out if blocked else f"[{each.kind}]")
            last = each.end
        return "".join([*parts, text[last:]])


def document_screen(rules: PiiRules, locale: str) -> DocumentScreen | None:
    """Return the screen, or none where documents go into the index as they are."""
    return DocumentScreen(rules, locale) if rules.masking("index").kinds else None
