"""Tools that act for a member: what they are, who may run them, and that an action runs once."""
