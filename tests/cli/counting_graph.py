"""A graph of somebody's own, which asks how many."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def count(state: MessagesState) -> dict[str, list[AIMessage]]:
    asked = str(state["messages"][-1].text)
    if "how many" not in asked:
        return {"messages": [AIMessage(f"You said: {asked}")]}
    number = interrupt({"question": "How many?"})
    return {"messages": [AIMessage(f"That makes {number + 1}.")]}


graph = StateGraph(MessagesState).add_node("count", count).add_edge(START, "count")
