"""Interviews in stages; the last answer makes a new agent's spec, which the factory would take."""

from collections.abc import Mapping
from typing import Any, Final, cast

import yaml
from langgraph.runtime import Runtime

from turnwire.agents.studio.errors import Fault, SpecInvalid
from turnwire.agents.studio.parts import Building, is_offline
from turnwire.agents.studio.primitives.common import (
    Work,
    accounted,
    consult,
    text_for,
)
from turnwire.agents.studio.primitives.drafting import TASK, drafted, yaml_in
from turnwire.agents.studio.primitives.interview import Interview, confirmed
from turnwire.agents.studio.primitives.talking import say_more
from turnwire.agents.studio.primitives.thinker import TOOL
from turnwire.agents.studio.reading import read_spec
from turnwire.agents.studio.spec import Architect
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.ids import new_id

SAVE: Final = "save_agent_draft"
"""The operation that keeps a draft."""
LONGEST_DRAFT: Final = 8_000
"""Characters of a draft, so that the whole call is kept in the state."""
_TRIES: Final = 3
_TOO_LONG: Final = Fault(line=1, path="", reason=f"has more than {LONGEST_DRAFT} characters")


def architect(node: Architect, building: Building) -> Work:
    """Return the node."""
    return _Interviewer(node, building).work


class _Interviewer:
    def __init__(self, node: Architect, building: Building) -> None:
        self._node = node
        self._known = building.parts.known()
        self._model = building.parts.model(node.role)
        self._interview = Interview(building)

    async def work(self, state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        """Ask the next question, or propose what the answers make."""
        so_far = await self._interview.so_far(state)
        answers, asked = dict(so_far.answers), so_far.asked
        new: list[dict[str, Any]] = []
        if asked is None:  # they come from an earlier conversation
            new = [{"stage": stage, "confirmed": each} for stage, each in answers.items()]
        said = confirmed(state.get("question", ""))
        if asked is not None and said:
            new.append({"stage": asked, "confirmed": said})
            answers = {**answers, asked: said}
        waiting = next((each for each in self._node.stages if each.id not in answers), None)
        if waiting is None:
            return {**await self._proposed(state, answers), "notes": [*new, {"finished": True}]}
        self._interview.keep(waiting.id, answers, state, session=so_far.session)
        question = text_for(waiting.ask, state.get("locale", "en"))
        new.append({"asked": waiting.id})
        return {
            **say_more(state, question),
            "notes": new,
            "route": "ask",
            "finish_reason": "stop",
        }

    async def _proposed(self, state: AgentState, answers: Mapping[str, str]) -> AgentState:
        text, update = await self._written(state, answers)
        read = cast("Mapping[str, Any]", yaml.safe_load(text))
        call = {
            "tool": TOOL,
            "operation": SAVE,
            "params": {"slug": str(read["slug"]), "spec": text},
            "id": new_id("call"),
        }
        return {**update, "route": "save", "extra": {"tool_call": call, "approval": None}}

    async def _written(
        self, state: AgentState, answers: Mapping[str, str]
    ) -> tuple[str, AgentState]:
        """Return what the model writes, or else what the answers make by themselves."""
        material = "\n".join(f"{stage}: {each}" for stage, each in answers.items())
        update: AgentState = {}
        wrong = ""
        for _ in range(0 if is_offline(self._model) else _TRIES):
            reply, completion = await consult(self._model, TASK + wrong, material)
            update = accounted({**state, **update}, completion)
            text = yaml_in(reply)
            try:
                if len(text) > LONGEST_DRAFT:
                    raise SpecInvalid("draft.yaml", [_TOO_LONG])
                read_spec(text, name="draft.yaml", known=self._known)
            except SpecInvalid as error:
                wrong = f"\n\nYour last draft can't be used:\n{error}"
            else:
                return text, update
        return drafted(answers, self._known), update
