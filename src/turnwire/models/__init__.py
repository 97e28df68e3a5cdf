"""The models that agents call."""
