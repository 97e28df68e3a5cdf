"""The node in which a model chooses tools; its words go nowhere.

It reads the member's question without private details, calls reads and searches as it likes within
limits, and proposes actions. What it says beside its calls is dropped where it arrives.
"""

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM
from langgraph.runtime import Runtime
from pydantic import JsonValue

from turnwire.agents.member.acting import Calls, screened
from turnwire.agents.member.before import Node, asking_for, locale_of
from turnwire.agents.member.gathered import Gathered
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.private import Private
from turnwire.agents.member.results import written
from turnwire.agents.member.searching import QUERIES, found_by
from turnwire.agents.member.specs import SEARCH, offered
from turnwire.agents.member.state import MemberState, outcomes_of, to_plain
from turnwire.agents.member.transcript import task, transcript
from turnwire.graph.context import TurnContext
from turnwire.graph.plain import change
from turnwire.ids import new_id
from turnwire.nodes.evidence.source import from_state
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.tools.arguments import hash_of
from turnwire.nodes.tools.texts import text
from turnwire.nodes.tools.tool import Call, Outcome, Proposal

_FENCE_BYTES: Final = 12


def gather(parts: MemberParts) -> Node:
    """Return the node that lets ``parts.executor`` choose, within ``parts.limits``."""
    look, screen = screened(parts), Screen(parts.policy)
    model = cast("BaseChatModel", parts.executor)
    bound: Any = model.bind_tools(offered(parts.tools, searches=parts.retriever is not None))

    async def gather(state: MemberState, runtime: Runtime[TurnContext]) -> MemberState:
        loop = _Loop(parts, state, runtime, bound=bound, screen=screen)
        try:
            async with asyncio.timeout(parts.limits.seconds):
                await loop.run()
        except TimeoutError:
            loop.gathered.is_over = True
        return {**loop.changed(), **await look(state, loop.gathered.made)}

    return gather


class _Loop:
    """One run of the loop: from the question or the member's word to what the turn needs next."""

    def __init__(
        self,
        parts: MemberParts,
        state: MemberState,
        runtime: Runtime[TurnContext],
        *,
        bound: Runnable[Any, Any],
        screen: Screen,
    ) -> None:
        self._parts = parts
        self._state = state
        self._bound = bound
        self._screen = screen
        self._locale = locale_of(parts, state)
        self._maker = Calls(parts, state, runtime)
        self._fence = secrets.token_hex(_FENCE_BYTES)
        self.gathered = Gathered(
            steps=[list(each) for each in state.get("steps", [])],
            outcomes=outcomes_of(state),
            found=list(state.get("found", [])),
            queries=list(state.get("queries", [])),
        )

    async def run(self) -> None:
        """Ask the model until it is content, a limit is reached, or a person is needed."""
        gathered, limits = self.gathered, self._parts.limits
        question = await asyncio.to_thread(self._question)
        if self._state.get("resumed") and not gathered.found:
            await self._search_again()
        while len(gathered.steps) < limits.rounds and not self._is_done:
            prompt = [*question, *await asyncio.to_thread(self._transcript)]
            answer: BaseMessage = await self._bound.ainvoke(prompt, config={"tags": [TAG_NOSTREAM]})
            calls = self._calls(answer)
            if not calls:
                return
            gathered.steps.append([to_plain(each) for each in calls])
            await self._make(calls)

    @property
    def _is_done(self) -> bool:
        gathered = self.gathered
        waits = gathered.planned or any(isinstance(each, Proposal) for each in gathered.made)
        return bool(waits or gathered.asking) or gathered.is_over

    async def _make(self, calls: Sequence[Call]) -> None:
        gathered = self.gathered
        reads = [each for each in calls if self._is_read(each)]
        is_first = len(gathered.steps) == 1
        searches_only = all(self._is_read(each) or each.name == SEARCH for each in calls)
        planned = is_first and bool(reads) and searches_only
        if planned and await self._maker.lacks_sign_in(reads):
            gathered.planned = reads
            gathered.queries += [_query(each) for each in calls if each.name == SEARCH]
            return
        misled = await asyncio.to_thread(self._is_misled)
        for each in calls:
            await self._make_one(each, misled=misled)

    def _is_misled(self) -> bool:
        """Whether the model was shown a text with instructions, which may be why it calls."""
        gathered = self.gathered
        passages = [one for each in gathered.found for one in from_state(each["evidence"])]
        shown = [f"{each.passage.title}\n{each.text}" for each in passages]
        shown += [written(each.result) for each in gathered.outcomes]
        return self._screen.look(shown) is not None

    async def _make_one(self, call: Call, *, misled: bool) -> None:
        gathered = self.gathered
        match call.name:
            case "search_knowledge" if self._parts.retriever is not None:
                await self._search(call)
            case "ask_for_details":
                self._ask(call)
            case _:
                again = self._said_no(call) or (self._unasked(call) if misled else None)
                made = again or await self._maker.make(call)
                gathered.made.append(made)
                if isinstance(made, Outcome):
                    gathered.outcomes.append(made)
                    hopeless = again is not None or self._is_hopeless(made)
                    gathered.is_over = gathered.is_over or hopeless

    async def _search(self, call: Call) -> None:
        gathered, retriever = self.gathered, self._parts.retriever
        query = _query(call)
        if retriever is None or not query or len(gathered.found) >= QUERIES:
            return
        gathered.queries.append(query)
        gathered.found.append(
            await found_by(retriever, query, self._locale, tool_call_id=call.tool_call_id)
        )

    async def _search_again(self) -> None:
        """Search once more for what was searched for before the member signed in."""
        gathered = self.gathered
        steps = [call for step in gathered.steps for call in step if call["name"] == SEARCH]
        gathered.queries = []
        for each in steps:
            await self._search(Call(**each))

    def _ask(self, call: Call) -> None:
        name = str(call.arguments.get("tool"))
        lacks = call.arguments.get("missing")
        tool = self._parts.tool(name)
        names = tuple(str(each) for each in lacks) if isinstance(lacks, list) else ()
        if tool is not None and names:
            self.gathered.asking = asking_for(self._parts, self._state, tool, {}, names)

    def _is_read(self, call: Call) -> bool:
        tool = self._parts.tool(call.name)
        return tool is not None and tool.risk == "read"

    def _said_no(self, call: Call) -> Outcome | None:
        """Refuse what the member has rejected, or what is proposed again too often."""
        no = [each.call for each in self.gathered.outcomes if each.code == "rejected"]
        same = [each for each in no if each.name == call.name]
        hashes = {hash_of(each.name, each.arguments) for each in same}
        is_same = hash_of(call.name, call.arguments) in hashes
        if not is_same and len(same) <= self._parts.limits.proposed_again:
            return None
        public = self._parts.texts.say(
            self._parts.texts.first(f"rejected_{call.name}", "rejected"), self._locale
        )
        return self._maker.refused(call, "proposed_again", public)

    def _unasked(self, call: Call) -> Outcome | None:
        """Refuse a read that nobody confirms; an action asks for the member's word anyway."""
        if not self._is_read(call):
            return None
        code = "needs_confirmation"
        return self._maker.refused(call, code, text(code, self._locale))

    def _is_hopeless(self, outcome: Outcome) -> bool:
        """Whether the model has got this call wrong twice, or nobody may make it now."""
        if outcome.code == "sign_in_required":
            return True
        same = [e for e in self.gathered.outcomes if e.call.name == outcome.call.name]
        wrong = [each for each in same if each.code in ("invalid_arguments", "unknown_tool")]
        return len(wrong) > 1

    def _question(self) -> list[BaseMessage]:
        self._private = private = Private(self._parts, self._state)
        return [task(self._fence), *private.history, HumanMessage(private.question)]

    def _transcript(self) -> list[BaseMessage]:
        gathered = self.gathered
        return transcript(
            gathered.steps,
            gathered.outcomes,
            gathered.found,
            redact=self._private.redact,
            fence=self._fence,
        )

    def _calls(self, answer: BaseMessage) -> list[Call]:
        """Return the calls of an answer with the member's own details, as far as tools get them."""
        if not isinstance(answer, AIMessage):
            return []
        gathered = self.gathered
        gathered.charge(self._parts, answer)
        room = max(0, self._parts.limits.calls - gathered.count)
        known = {str(each["tool_call_id"]) for step in gathered.steps for each in step}
        calls: list[Call] = []
        for each in answer.tool_calls[:room]:
            named = each["id"] or ""
            call_id = named if named and named not in known else new_id("call")
            known.add(call_id)
            arguments = cast("dict[str, JsonValue]", change(each["args"], self._private.give))
            calls.append(Call(tool_call_id=call_id, name=each["name"], arguments=arguments))
        return calls

    def changed(self) -> MemberState:
        """Return what the loop changes in the state."""
        return self.gathered.changed(self._parts, self._state)


def _query(call: Call) -> str:
    query = call.arguments.get("query")
    return query.strip() if isinstance(query, str) else ""
