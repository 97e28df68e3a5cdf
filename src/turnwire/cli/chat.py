"""``turnwire chat``: a terminal client over the stream."""
