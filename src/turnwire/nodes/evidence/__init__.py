"""What an answer stands on: passages found for the question, citations checked against them."""
