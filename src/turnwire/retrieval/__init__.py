"""Documents become passages, passages an index, and a question the evidence for its answer."""
