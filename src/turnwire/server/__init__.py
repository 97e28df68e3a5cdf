"""HTTP in, bytes out; nothing is decided here."""
