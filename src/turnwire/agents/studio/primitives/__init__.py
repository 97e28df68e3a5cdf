"""What the nodes of an agent from a spec do; one module a primitive."""
