"""The answer: its prompt, the model's words as they come, and what they cost."""
