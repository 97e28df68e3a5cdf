"""The graphs that turnwire serves in the benchmark, by name: ``bench.agents:speaking``.

``chat`` and ``idle`` are anybody's graphs. ``speaking`` is written as our own agents are: its node
reads the provider's iterator and says each word through the speaker, without callbacks.
"""

from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, StateGraph

from bench.graphs import CannedModel, ChatState, Graph, canned_model, chat_graph, idle_graph
from turnwire.graph.emit import speaker
from turnwire.graph.manifest import Manifest

speaking_manifest: Final = Manifest(
    slug="speaking",
    title="The benchmark's speaking agent",
    model="canned",
    answer_node="speak",
    speaks=True,
)


def speaking_graph(model: CannedModel) -> Graph:
    """Return a graph whose one node says the model's words itself."""

    async def speak(state: ChatState) -> dict[str, list[BaseMessage]]:
        say = speaker().say
        said: list[str] = []
        # The provider's iterator itself: `model.astream` would run LangChain's callbacks.
        async for chunk in model.chunks():
            text = chunk.text
            said.append(text)
            say(text)
        return {"messages": [AIMessage("".join(said))]}

    builder: StateGraph[ChatState, Any, ChatState, ChatState] = StateGraph(ChatState)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    return builder.compile()


chat = chat_graph(canned_model())
speaking = speaking_graph(canned_model())
idle = idle_graph()
