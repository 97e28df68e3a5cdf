"""What agents are built from; each usable in anybody's graph."""
