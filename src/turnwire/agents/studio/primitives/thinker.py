"""Thinks in steps: what it wants done is written into the state, and `portal_task` does it.

A model is given the calls that there are and replies with one JSON object; without a provider the
spec's own forms say what a message asks for.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langgraph.runtime import Runtime

from turnwire.agents.studio.forms import read_form
from turnwire.agents.studio.parts import Building, is_offline
from turnwire.agents.studio.primitives.common import (
    Work,
    accounted,
    consult,
    object_in,
    text_for,
    transcript,
)
from turnwire.agents.studio.primitives.guards import raw_question
from turnwire.agents.studio.primitives.results import refused
from turnwire.agents.studio.spec import Example, Filled, Thinker
from turnwire.agents.studio.state import AgentState
from turnwire.events import ReasoningDelta
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import speaker
from turnwire.ids import new_id
from turnwire.nodes.answer.completion import Completion
from turnwire.nodes.tools.texts import text

TOOL: Final = "portal"
_TASK: Final = """\
{prompt}

You plan, step by step, which calls are needed to answer the user. The calls are:
{calls}

Reply with one JSON object and nothing else:
{{"thought": "why, in one sentence", "call": {{"operation": "…", "params": {{…}}}}}}
Where nothing more is to be called, "call" is null. Call nothing twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the thinker has thought, and what it wants called."""

    thought: str = ""
    operation: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    completion: Completion | None = None


def thinker(node: Thinker, building: Building) -> Work:
    """Return the node."""
    model = building.parts.model(node.role)
    allowed = [each for each in node.operations if building.tools.tool(each) is not None]
    specs = [each["function"] for each in building.tools.specs()]
    calls = "\n".join(
        json.dumps(each, ensure_ascii=False) for each in specs if each["name"] in allowed
    )

    async def think(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        said = speaker()
        locale = state.get("locale", "en")

        def aloud(thought: str) -> None:
            said.emit(ReasoningDelta(node=node.id, text=thought))

        if is_offline(model):
            step = by_form(node, state, locale)
        else:
            prompt = text_for(node.prompt, locale)
            task = _TASK.format(prompt=prompt, calls=calls or "(none)")
            step = await _by_model(building, task, state, aloud)
        if step.thought:
            aloud(step.thought)
        wrong = _wrong(building, allowed, step, locale)
        return _taken(node, state, step, wrong)

    async def _by_model(
        building: Building, task: str, state: AgentState, aloud: Callable[[str], None]
    ) -> Step:
        reply, completion = await consult(model, task, transcript(state), think=aloud)
        return read_step(reply, completion)

    return think


def read_step(reply: str, completion: Completion | None = None) -> Step:
    """Return what a model's reply says; what can't be read asks for nothing."""
    read = object_in(reply)
    if read is None:
        return Step(thought=reply.strip(), completion=completion)
    call = read.get("call")
    thought = str(read.get("thought") or "")
    if not isinstance(call, dict):
        return Step(thought=thought, completion=completion)
    asked = cast("Mapping[str, Any]", call)
    params = asked.get("params")
    return Step(
        thought=thought,
        operation=str(asked.get("operation") or ""),
        params=cast("Mapping[str, Any]", params) if isinstance(params, dict) else {},
        completion=completion,
    )


def by_form(node: Thinker, state: AgentState, locale: str) -> Step:
    """Return the call that the message asks for by one of the forms, unless it was made."""
    made = {each["operation"] for each in state.get("tool_results", [])}
    message = raw_question(state)
    for example in node.offline:
        found = _found(example, message)
        if found is not None and example.operation not in made:
            return Step(
                thought=_filled(text_for(example.thought, locale), found),
                operation=example.operation,
                params={name: _value(each, found) for name, each in example.params.items()},
            )
    return Step()


def _found(example: Example, message: str) -> Mapping[str, str] | None:
    forms = (read_form(each).match(message) for each in example.say)
    return next((each for each in forms if each is not None), None)


def _value(value: Filled, found: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    match value:
        case str():
            return found.get(value[1:-1], value) if value[:1] == "{" else value
        case tuple():
            return [_value(each, found) for each in value]
        case Mapping():
            return {name: _value(each, found) for name, each in value.items()}
        case _:
            return value


def _filled(text_: str, found: Mapping[str, str]) -> str:
    for name, value in found.items():
        text_ = text_.replace(f"{{{name}}}", value)
    return text_


def _wrong(
    building: Building, allowed: Sequence[str], step: Step, locale: str
) -> Mapping[str, Any] | None:
    """Return why the call can't be made, as a result that the next step reads."""
    if step.operation is None:
        return None
    tool = building.tools.tool(step.operation) if step.operation in allowed else None
    if tool is None:
        return refused(step.operation, "not_allowed", text("not_allowed", locale))
    reasons = building.tools.wrong(tool, step.params)
    if not reasons:
        return None
    error = f"{text('invalid_arguments', locale)} ({'; '.join(reasons)})."
    return refused(step.operation, "invalid_arguments", error)


def _taken(
    node: Thinker, state: AgentState, step: Step, wrong: Mapping[str, Any] | None
) -> AgentState:
    number = len(state.get("reasoning_steps", [])) + 1
    called = step.operation if wrong is None else None
    trace = {"step": number, "thought": step.thought, "operation": step.operation}
    update: AgentState = {
        "route": called or node.done,
        "reasoning_steps": [trace],
        "scratchpad": [step.thought] if step.thought else [],
        **accounted(state, step.completion),
    }
    if wrong is not None:
        return {**update, "tool_results": [wrong], "context": [wrong]}
    if called is None:
        return {**update, "extra": {"tool_call": None, "approval": None}}
    call = {
        "tool": TOOL,
        "operation": called,
        "params": dict(step.params),
        "id": new_id("call"),
    }
    return {**update, "extra": {"tool_call": call, "approval": None}}
