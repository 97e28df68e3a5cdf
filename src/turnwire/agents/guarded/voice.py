"""How a model's words get out: private details back in, others out, past the policy's checks."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from turnwire.events import ReasoningDelta, TextReplaced
from turnwire.graph.emit import Speaker
from turnwire.graph.plain import Joiner
from turnwire.nodes.answer.gate import Gate, Trip
from turnwire.nodes.answer.placeholders import Restorer
from turnwire.nodes.guardrails.redactor import Masking, Redactor

NAME: Final = "generate_response"
"""The node that speaks."""

Manner: TypeAlias = Literal["hold", "flag", "retract", "silent"]
"""The policy's ``stream_policy``, or ``silent``: a person reads everything first."""


class Voice:
    """Says a model's words as far as they may be said, and keeps the draft.

    Args:
        said: whom the words go to.
        masking: what is done about personal data that the model adds.
        mapping: the member's own details, to put back.
        gate: takes the sentences, but under ``flag``.
        refusal: what is said in place of an answer that may not be said.
    """

    def __init__(
        self,
        said: Speaker,
        *,
        masking: Masking,
        mapping: Mapping[str, str],
        gate: Gate,
        manner: Manner,
        refusal: str,
    ) -> None:
        self._said = said
        self._joiner = Joiner()
        self._redactor = Redactor(masking)
        self._thoughts = Redactor(masking)
        self._restorer = Restorer(mapping)
        self._gate = gate
        self._manner: Manner = manner
        self._refusal = refusal
        self._written: list[str] = []
        self._spoke = self._taken_back = False
        self.node = NAME
        """The node that speaks, for its reasoning."""
        self.stopped: Trip | None = None
        """Why the answer is not said at all."""

    @property
    def draft(self) -> str:
        """The answer as it stands: what was said, and what a person has to read first."""
        if self.stopped is not None:
            return self._refusal
        return "".join([*self._written, *self._gate.passed, *self._gate.withheld])

    @property
    def held(self) -> bool:
        """Whether the draft, or the end of it, waits for a person."""
        return self.stopped is None and (self._manner == "silent" or self._gate.trip is not None)

    @property
    def characters_said(self) -> int:
        """How much of the draft was said, where the rest is held."""
        if not self.held or self._manner == "silent":
            return 0
        return sum(map(len, self._gate.passed))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person has to read the end of the draft."""
        trip = self._gate.trip
        return trip.reasons if trip is not None and trip.check == "hitl_review" else ()

    @property
    def redacted(self) -> tuple[str, ...]:
        """The kinds of personal data that were taken out of the answer."""
        return self._redactor.kinds

    def say(self, text: str) -> None:
        """Take the next words of the model."""
        text = self._joiner.feed(text)
        self._take(self._restorer.feed(self._redactor.feed(text)))

    def think(self, text: str) -> None:
        """Say the next words of the model's reasoning."""
        self._reason(self._thoughts.feed(text))

    def end(self) -> None:
        """Say what was held back for what could have followed; the model has ended well."""
        self._reason(self._thoughts.flush())
        rest = self._redactor.feed(self._joiner.flush()) + self._redactor.flush()
        self._take(self._restorer.feed(rest) + self._restorer.flush())
        passed = self._gate.flush()
        if self._manner == "hold":
            self._speak(passed)
        self._look()

    def _take(self, text: str) -> None:
        if self.stopped is not None:
            return
        match self._manner:
            case "hold":
                self._speak(self._gate.feed(text))
            case "retract":
                if self._gate.trip is None:
                    self._speak(text)
                self._gate.feed(text)
            case "flag":
                self._written.append(text)
                self._speak(text)
            case "silent":
                self._gate.feed(text)
        self._look()

    def _look(self) -> None:
        trip = self._gate.trip
        if self._redactor.blocked is not None:
            trip = Trip("pii", (self._redactor.blocked.lower(),))
        if trip is None or self.stopped is not None:
            return
        if trip.check != "hitl_review":
            self.stopped = trip
            self._replace(self._refusal, trip)
        elif self._manner == "retract" and not self._taken_back:
            self._taken_back = True
            self._replace("".join(self._gate.passed), trip)

    def _speak(self, text: str) -> None:
        if text and self.stopped is None:
            self._said.say(text)
            self._spoke = True

    def _replace(self, text: str, trip: Trip) -> None:
        if self._spoke:
            self._said.emit(TextReplaced(text=text, reason=trip.check, retracts=True))
        else:
            self._said.say(text)

    def _reason(self, text: str) -> None:
        if text and self._manner != "silent":
            self._said.emit(ReasoningDelta(node=self.node, text=text))
