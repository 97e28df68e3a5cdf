"""A graph of somebody's own, which asks how many, and a reviewer about doses."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from turnwire.graph.pause import ask


def count(state: MessagesState) -> dict[str, list[AIMessage]]:
    asked = str(state["messages"][-1].text)
    if "dose" in asked:
        answer = ask("review", {"reasons": ["dosage"], "draft": "Take two."})
        return {"messages": [AIMessage(f"The reviewer says {answer['decision']}.")]}
    if "how many" not in asked:
        return {"messages": [AIMessage(f"You said: {asked}")]}
    number = interrupt({"question": "How many?"})
    return {"messages": [AIMessage(f"That makes {number + 1}.")]}


graph = StateGraph(MessagesState).add_node("count", count).add_edge(START, "count")
