"""Private details stay out of what a model reads, and out of what it adds of its own."""

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import BaseMessage

from turnwire.nodes.answer.prompt import recall
from turnwire.nodes.guardrails.pii import PiiKind, placeholder_kind, redact
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.redactor import Masking, compact, known_values


class Privacy:
    """Takes private details out of texts; the same detail keeps its placeholder.

    What the placeholders stand for is worked out anew where it is needed, from the messages in
    the same order, and so never stored.
    """

    def __init__(self, policy: Policy, locale: str) -> None:
        self._rules = policy.pii
        self._names = policy.pii.names("model", locale)
        self._kinds: Sequence[PiiKind] = policy.pii.masking("model").kinds
        self._read: list[str] = []
        self.mapping: Mapping[str, str] = {}
        """Placeholder to original."""

    def redact(self, text: str) -> str:
        """Return ``text`` with a placeholder for each private detail."""
        redaction = redact(
            text,
            mapping=self.mapping,
            kinds=self._kinds,
            regions=self._rules.regions,
            names=self._names,
        )
        self.mapping = redaction.mapping
        self._read.append(redaction.text)
        return redaction.text

    def recall(self, earlier: Sequence[BaseMessage], *, limit: int) -> list[BaseMessage]:
        """Return the last of the earlier messages as a model may read them."""
        return recall(earlier, limit=limit, redact=self.redact)

    def for_answer(self, evidence: Iterable[str]) -> Masking:
        """Return what is done about personal data that the model adds to the answer.

        What the member wrote may be said, and what stands in the evidence.
        """
        masking = self._rules.masking("answer")
        own = {
            compact(original, placeholder_kind(placeholder))
            for placeholder, original in self.mapping.items()
        }
        given = known_values([*self._read, *evidence], masking)
        return self._rules.masking("answer", known=own | given)
