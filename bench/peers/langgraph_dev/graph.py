"""The benchmark's chat graph for ``langgraph dev``, which finds ``bench`` on the Python path."""

from bench.graphs import canned_model, chat_graph

graph = chat_graph(canned_model())
