"""A person reads the draft before the turn goes on."""
