"""What is checked before and after the model, as pure functions without LangGraph."""
