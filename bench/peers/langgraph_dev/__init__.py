"""What ``langgraph dev`` serves: the same graph, under LangChain's own server."""
