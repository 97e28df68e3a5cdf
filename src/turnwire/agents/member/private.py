"""The member's words: without private details for models, and as tools may get them."""

from langchain_core.messages import BaseMessage

from turnwire.agents.guarded.privacy import Privacy
from turnwire.agents.guarded.state import split_new
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.state import MemberState
from turnwire.nodes.guardrails.details import restore
from turnwire.nodes.guardrails.pii import PLACEHOLDER, placeholder_kind
from turnwire.nodes.guardrails.redactor import mask


class Private(Privacy):
    """One turn's words; what a placeholder stands for is worked out anew, and kept nowhere."""

    def __init__(self, parts: MemberParts, state: MemberState) -> None:
        super().__init__(parts.policy, state.get("locale", parts.policy.default_locale))
        self._masking = parts.policy.pii.masking("tools")
        earlier, new = split_new(state.get("messages", []))
        # First what came first: `guardrail_pre` numbered the placeholders in this order.
        self.history: list[BaseMessage] = self.recall(earlier, limit=parts.history)
        """The earlier messages as a model may read them."""
        self.question = "\n\n".join(self.redact(str(each.text)) for each in new)
        """The new ones."""

    def give(self, words: str) -> str:
        """Return a text with placeholders as a tool gets it, by the policy's sink ``tools``."""
        actions = self._masking.actions
        own = {
            each: self.mapping[each]
            for each in PLACEHOLDER.findall(words)
            if each in self.mapping and actions.get(placeholder_kind(each), "none") == "none"
        }
        return restore(mask(words, self._masking).text, own)
