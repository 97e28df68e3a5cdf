"""What a member answers in the terminal: sign-ins, confirmations, and a graph's questions."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

from turnwire.cli.answers import ask, value
from turnwire.cli.output import note
from turnwire.client import (
    AuthRequired,
    Client,
    ConfirmationRequired,
    OpenQuestion,
    Paused,
    Refused,
    Turn,
)

_YES: Final = ("approve", "yes")
_NO: Final = ("reject", "no")
_TYPED_WRONG: Final = ("invalid_code", "validation_error")
"""Refusals of a number or a code after which the person types it again."""


class SigningIn:
    """Signs the member of a talk in, as far as they want it."""

    def __init__(self, client: Client, *, outbox: Path | None) -> None:
        """Take ``outbox``, where codes lie if they are written to files on this machine."""
        self._client = client
        self._outbox = outbox

    def go(self) -> bool:
        """Ask for number and code; return whether to go on, which Ctrl-D denies.

        Raises:
            Refused: nobody can sign in, or not now.
        """
        asked = "Your mobile, with its country code (Enter if you have signed in elsewhere): "
        mobile = self._typed(asked, self._client.login)
        if not mobile:
            return mobile is not None
        note("If it is a member's, a code is on its way.")
        if self._outbox is not None:
            note(f"On this machine it may be a file: the newest one in {self._outbox}")
        code = self._typed("The code: ", lambda code: self._client.verify(mobile, code))
        return bool(code)

    def _typed(self, prompt: str, send: Callable[[str], object]) -> str | None:
        """Return what the person typed and the server took; "" for nothing, none for Ctrl-D."""
        while said := ask(prompt):
            if not (said := said.strip()):
                return ""
            try:
                send(said)
            except Refused as refused:
                if refused.code not in _TYPED_WRONG:
                    raise
                note(_wrong(refused), "red")
            else:
                return said
        return said


def _wrong(refused: Refused) -> str:
    if refused.code == "invalid_code":
        return "This code is wrong or has expired."
    return "Write the number with its country code, such as +44 7700 900101."


class Answering:
    """Answers what one turn waits for, as its member says."""

    def __init__(self, turn: Turn, signing_in: SigningIn) -> None:
        self._turn = turn
        self._signing_in = signing_in
        self._decided = set[str]()
        """Confirmations that were answered; one that still waits then was refused."""

    def answer(self, paused: Paused) -> bool:
        """Answer one thing; return whether the person did."""
        try:
            return self._answer(paused)
        except KeyboardInterrupt:
            note("")
            return False

    def _answer(self, paused: Paused) -> bool:
        for asked in paused.confirmations:
            if asked.confirmation_id not in self._decided:
                return self._decide(asked)
        if paused.sign_in is not None:
            return self._sign_in(paused.sign_in)
        if paused.questions:
            return self._give(paused.questions[0])
        if not paused.confirmations:
            note(f"The turn waits ({paused.kind}); this client can't answer that.", "bold")
        return False

    def _decide(self, asked: ConfirmationRequired) -> bool:
        note(f"{asked.summary} ({asked.name}, {asked.risk})", "bold")
        if asked.arguments_preview:
            note(json.dumps(asked.arguments_preview, indent=2, ensure_ascii=False), "")
        until = f", until {_clock(asked.expires_at)}" if asked.expires_at else ""
        while said := (ask(f"approve or reject (y/n{until})? ") or "").strip().lower():
            if any(each.startswith(said) for each in _YES):
                return self._confirm(asked, approve=True)
            if any(each.startswith(said) for each in _NO):
                feedback = (ask("what should be different (Enter: nothing)? ") or "").strip()
                return self._confirm(asked, approve=False, feedback=feedback)
            note("Type approve or reject; nothing lets it wait.")
        return False

    def _confirm(self, asked: ConfirmationRequired, *, approve: bool, feedback: str = "") -> bool:
        self._decided.add(asked.confirmation_id)
        self._turn.confirm(asked.confirmation_id, approve=approve, feedback=feedback or None)
        return True

    def _sign_in(self, asked: AuthRequired) -> bool:
        if asked.message not in self._turn.text:  # else it was just said
            note(asked.message, "bold")
        if not self._signing_in.go():
            return False
        self._turn.resume()
        return True

    def _give(self, asked: OpenQuestion) -> bool:
        note(json.dumps(asked.payload, ensure_ascii=False), "bold")
        given = value(asked.response_schema)
        if given is not None:
            self._turn.answer({asked.pause_id: cast("JsonValue", given)})
        return given is not None


def _clock(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M")
