"""Requests that nobody wrote by hand, sent to the whole application, and what is wrong with it."""
