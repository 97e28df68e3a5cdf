"""Serve LangGraph agents' turns: guarded, confirmed, cited, metered, resumable, on every wire.

A turn flows one way:

    request -> admission -> engine (runs the agent's graph) -> events -> wire -> bytes
"""
