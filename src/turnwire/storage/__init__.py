"""Where conversations, turns and events are kept."""
