"""LangGraph on one side, work and events on the other."""
