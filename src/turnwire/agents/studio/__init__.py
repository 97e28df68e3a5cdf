"""Agents that staff write as YAML specs: read, checked, compiled and kept by version."""
