"""What can go wrong."""


class NotMeasured(Exception):
    """A row could not be measured; the message says why."""
