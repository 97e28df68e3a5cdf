"""How far an interview has come: in the conversation, and in the working memory between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from turnwire.agents.studio.parts import Building
from turnwire.agents.studio.spec import Architect
from turnwire.agents.studio.state import AgentState
from turnwire.nodes.memory.working import Working, WorkingMemory

_LONGEST: Final = 2000
"""Characters of an answer that are kept."""
_NOTES: Final = 20


@dataclass(frozen=True, slots=True)
class SoFar:
    """How far an interview has come."""

    answers: Mapping[str, str]
    """What was confirmed, by stage."""
    asked: str | None
    """The stage whose answer this message is."""
    session: str | None = None
    """The conversation that it comes from, if it is an earlier one."""


class Interview:
    """The working memory of one agent's interviews."""

    def __init__(self, building: Building) -> None:
        self._memory = WorkingMemory(building.spec.slug, building.policy, now=building.parts.now)

    async def so_far(self, state: AgentState) -> "SoFar":
        """Return how far it has come.

        A new conversation goes on with what was confirmed in the one before; its first message
        answers nothing, since nothing was asked in it.
        """
        notes = cast("Sequence[Mapping[str, Any]]", state.get("notes", []))
        if any("asked" in each for each in notes):
            answers, asked = told(notes)
            return SoFar(answers, asked)
        known = await self._memory.restore()
        return SoFar(dict(known.confirmed), None, known.session) if known else SoFar({}, None)

    def keep(
        self, stage: str, answers: Mapping[str, str], state: AgentState, *, session: str | None
    ) -> None:
        """Keep it once the turn is complete; it moves here from the session before."""
        notes = cast("Sequence[Mapping[str, Any]]", state.get("notes", []))
        said = tuple(str(each["note"])[:_LONGEST] for each in notes if "note" in each)
        kept = Working(stage=stage, confirmed=dict(answers), notes=said[-_NOTES:], session=session)
        self._memory.keep(kept)

    def clear(self) -> None:
        """Forget it once the turn is complete."""
        self._memory.clear(Working(stage="finished"))


def told(notes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], str | None]:
    """Return the confirmed answers of a conversation by stage, and the stage that is awaited."""
    answers: dict[str, str] = {}
    asked: str | None = None
    for each in notes:
        if each.get("finished"):
            answers, asked = {}, None
        if "asked" in each:
            asked = str(each["asked"])
        if "confirmed" in each:
            answers[str(each["stage"])] = str(each["confirmed"])
            asked = None
    return answers, asked


def confirmed(question: str) -> str:
    """Return an answer as it is kept."""
    return question.strip()[:_LONGEST]


def forget_interview(building: Building, state: AgentState) -> None:
    """Forget an interview that is over, once its turn is complete: saved or not."""
    notes = cast("Sequence[Mapping[str, Any]]", state.get("notes", []))
    interviews = any(isinstance(each, Architect) for each in building.spec.nodes)
    if interviews and notes and notes[-1].get("finished"):
        Interview(building).clear()
