"""The names of things: one prefix a kind, and randomness that nobody can guess."""

import re
import secrets
from typing import Final, Literal, NewType

ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
RunId = NewType("RunId", str)
PauseId = NewType("PauseId", str)
Seq = NewType("Seq", int)

BEGINNING: Final = Seq(0)
"""Before the first event of a turn."""

Prefix = Literal["conv", "trn", "run", "cnf", "rev", "req", "err", "key", "call"]

# Clients may name a conversation themselves (`web-V1StGXR8Z5`), so the form is wider than ours.
# No separator of ours (`:`, `/`, `.`) and no wildcard is in it: an id never reaches another key.
IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)


def new_id(prefix: Prefix) -> str:
    """Return a fresh identifier such as ``run_5f0c…`` with 96 bits of randomness."""
    return f"{prefix}_{secrets.token_hex(12)}"


def new_trace_id() -> str:
    """Return 32 hexadecimal digits (W3C Trace Context, section 3.2.2.3)."""
    return secrets.token_hex(16)


def is_identifier(text: str) -> bool:
    """Whether ``text`` has the form of an id that a client may send."""
    return IDENTIFIER.fullmatch(text) is not None
