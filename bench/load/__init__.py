"""The load generator, a process of its own on a core of its own: ``python -m bench.load``."""
