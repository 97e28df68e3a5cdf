"""May this turn start? Who asks, and is the conversation theirs and free?"""
