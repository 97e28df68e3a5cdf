"""A provider without a model: it speaks two protocols and fails on demand."""
