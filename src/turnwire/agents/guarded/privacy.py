"""Private details stay out of what a model reads."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage

from turnwire.nodes.answer.prompt import recall
from turnwire.nodes.guardrails.pii import redact
from turnwire.nodes.guardrails.policy import Policy


class Privacy:
    """Takes private details out of texts; the same detail keeps its placeholder.

    What the placeholders stand for is worked out anew where it is needed, from the messages in
    the same order, and so never stored.
    """

    def __init__(self, policy: Policy) -> None:
        self._rules = policy.pii
        self.mapping: Mapping[str, str] = {}
        """Placeholder to original."""

    def redact(self, text: str) -> str:
        """Return ``text`` with a placeholder for each private detail."""
        redaction = redact(
            text, mapping=self.mapping, kinds=self._rules.kinds, regions=self._rules.regions
        )
        self.mapping = redaction.mapping
        return redaction.text

    def recall(self, earlier: Sequence[BaseMessage], *, limit: int) -> list[BaseMessage]:
        """Return the last of the earlier messages as a model may read them."""
        return recall(earlier, limit=limit, redact=self.redact)
