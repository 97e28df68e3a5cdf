"""``turnwire doctor``: what is configured, reachable, missing, and what to do next."""
