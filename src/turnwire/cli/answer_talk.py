"""``turnwire chat --wire answer``: a member's conversation, over the client that ships."""

import json
from contextlib import suppress
from typing import Any, Final, cast

import typer
from pydantic import JsonValue

from turnwire.cli.answer_transcript import AnswerTranscript
from turnwire.cli.answers import ask, value
from turnwire.cli.output import MAKE_KEY, note
from turnwire.client import (
    AuthRequired,
    BrokenStream,
    Client,
    ClientError,
    Completed,
    ConfirmationRequired,
    Ending,
    Failed,
    Hints,
    OpenQuestion,
    Paused,
    Refused,
    Turn,
    WrongUsage,
)
from turnwire.errors import SetupError

_TRY_AGAIN: Final = {
    "resume_unavailable": "You are not signed in yet.",
    "validation_error": "This does not fit: {0.details}",
}
"""Refusals after which the turn waits still, and what the person is told."""
_OPTIONS: Final = {"base_url": "--url", "api_key": "--key", "session": "--session"}


def speaking(url: str, key: str, session: str | None, thread: str | None) -> Client:
    """Return a client; close it in the end.

    Raises:
        SetupError: the options do not fit together, or can't be used.
    """
    if thread and not session:
        raise SetupError(
            "--thread: on the answer wire a conversation is its member's; say who with --session."
        )
    try:
        return Client(url, api_key=key, session=session)
    except WrongUsage as error:
        argument, _, why = str(error).partition(":")
        raise SetupError(f"{_OPTIONS[argument]}:{why}") from None


class AnswerTalk:
    """One conversation on the answer wire, turn by turn."""

    def __init__(self, client: Client, asked: dict[str, str | None], *, as_json: bool) -> None:
        self._client = client
        self._agent = asked["agent"]
        self._hints = Hints(locale=asked["locale"])
        self._thread = asked["thread_id"]
        self._as_json = as_json

    @property
    def later(self) -> str | None:
        """The command that goes on with the conversation, once it has begun."""
        if not self._thread:
            return None
        member = f"TURNWIRE_SESSION={self._client.session}"
        return f"{member} turnwire chat --wire answer --thread {self._thread}"

    def turn(self, message: str) -> bool:
        """Take one turn; return whether it went well."""
        try:
            if self._client.session is None:
                self._client.new_session()
        except ClientError as error:
            _complain(error)
            return False
        turn = self._client.ask(
            message, conversation_id=self._thread, agent=self._agent, hints=self._hints
        )
        try:
            return self._print(turn) if self._as_json else self._show(turn)
        except KeyboardInterrupt:
            _stop(turn)
        except ClientError as error:
            _complain(error)
        finally:
            turn.close()
            self._thread = turn.conversation_id or self._thread
        return False

    def _print(self, turn: Turn) -> bool:
        ending = turn.wait()
        told = {
            "conversation_id": turn.conversation_id,
            "message_id": turn.message_id,
            **_as_json(ending),
            "text": turn.text,
            "citations": [each.model_dump(mode="json") for each in turn.citations],
        }
        typer.echo(json.dumps(told))
        return not isinstance(ending, Failed)

    def _show(self, turn: Turn) -> bool:
        transcript = AnswerTranscript(turn)
        try:
            _hear(turn, transcript)
            while isinstance(turn.ending, Paused):
                if not _answer(turn, turn.ending):
                    note("The turn keeps waiting.")
                    return True
                try:
                    _hear(turn, transcript)
                except Refused as refused:
                    if refused.code not in _TRY_AGAIN:
                        raise
                    note(_TRY_AGAIN[refused.code].format(refused))
        finally:
            transcript.break_line()
        return isinstance(turn.ending, Completed)


def _hear(turn: Turn, transcript: AnswerTranscript) -> None:
    for event in turn:
        transcript.show(event)


def _answer(turn: Turn, paused: Paused) -> bool:
    """Answer what the turn waits for; return whether the person did."""
    try:
        if paused.confirmations:
            return _decide(turn, paused.confirmations[0])
        if paused.sign_in is not None:
            return _sign_in(turn, paused.sign_in)
        if paused.questions:
            return _give(turn, paused.questions[0])
    except KeyboardInterrupt:
        note("")
        return False
    note(f"The turn waits ({paused.kind}); this client can't answer that.", "bold")
    return False


def _decide(turn: Turn, asked: ConfirmationRequired) -> bool:
    note(f"{asked.summary} ({asked.name}, {asked.risk})", "bold")
    if asked.arguments_preview:
        note(json.dumps(asked.arguments_preview, indent=2), "")
    while said := (ask("approve or reject? ") or "").strip().lower():
        if "approve".startswith(said) or "reject".startswith(said):
            turn.confirm(asked.confirmation_id, approve="approve".startswith(said))
            return True
        note("Type approve or reject; nothing lets it wait.")
    return False


def _sign_in(turn: Turn, asked: AuthRequired) -> bool:
    note(asked.message, "bold")
    if ask("Sign in, then press Enter; Ctrl-D lets it wait. ") is None:
        return False
    turn.resume()
    return True


def _give(turn: Turn, asked: OpenQuestion) -> bool:
    note(json.dumps(asked.payload), "bold")
    given = value(asked.response_schema)
    if given is not None:
        turn.answer({asked.pause_id: cast("JsonValue", given)})
    return given is not None


def _stop(turn: Turn) -> None:
    """Stop the turn, so that no further token is paid for."""
    stopped = False
    with suppress(ClientError):
        stopped = turn.cancel()
    note("Stopped." if stopped else "Left; the server stops the turn if it still runs.")


def _as_json(ending: Ending) -> dict[str, Any]:
    match ending:
        case Completed():
            return {"finish_reason": ending.finish_reason}
        case Paused():
            asked = [each.model_dump(mode="json") for each in ending.confirmations]
            questions = [each.model_dump(mode="json") for each in ending.questions]
            waits = {"finish_reason": f"awaiting_{ending.kind}", "confirmations": asked}
            return {**waits, "questions": questions}
        case Failed():
            return {"error": ending.code, "error_id": ending.error_id}
        case _:
            return {"error": "broken"}


def _complain(error: ClientError) -> None:
    note(f"turnwire: {error}", "red")
    if isinstance(error, Refused) and error.status == 401:
        note(f"Make a key on the server's machine: {MAKE_KEY}")
    if isinstance(error, BrokenStream):
        note("Is the server there? Start one with: turnwire serve")
