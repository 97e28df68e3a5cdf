"""What an agent remembers of a user from one conversation to the next."""
