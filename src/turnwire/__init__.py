"""Serve LangGraph agents' turns: guarded, confirmed, cited, metered, resumable, on every wire.

A turn flows one way:

    request -> admission -> engine (runs the agent's graph) -> events -> wire -> bytes
"""

import os

# LangGraph reads this once, when it is imported. Without it a checkpoint may name any function,
# which is then run when the checkpoint is loaded; with it, graphs declare the types they keep.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")  # noqa: TID251 - before LangGraph is
