"""How well the shipped agent decides, finds and answers, on sets written for this project.

See docs/reference/evaluation.md.
"""
