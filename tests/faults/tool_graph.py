"""A graph that calls two tools, one of them slow, and then a model that reads the whole history."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from tests.server import graphs
from turnwire.models.catalog import chat_model


@tool
async def look_up(seconds: float) -> str:
    """Look something up for as long as that."""
    await asyncio.sleep(seconds)
    return f"found after {seconds}"


def tooling() -> StateGraph[MessagesState, None, MessagesState, MessagesState]:
    """A question that begins with ``wait`` keeps one of the tools busy for a minute."""
    model = chat_model("openai:fake", base_url=graphs.provider_url[-1])

    async def plan(state: MessagesState) -> dict[str, Any]:
        question = str(state["messages"][-1].text)
        slow = 60.0 if question.startswith("wait") else 0.0
        calls = [
            {"name": "look_up", "args": {"seconds": seconds}, "id": f"call_{question}_{n}"}
            for n, seconds in enumerate((0.0, slow))
        ]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: StateGraph[MessagesState, None, MessagesState, MessagesState] = StateGraph(MessagesState)
    graph.add_node("plan", plan)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_node("answer", answer)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "tools")
    graph.add_edge("tools", "answer")
    graph.add_edge("answer", END)
    return graph
