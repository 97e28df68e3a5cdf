"""``turnwire chat --wire answer``: a member's conversation, over the client that ships."""

import json
from contextlib import suppress
from typing import Any, Final

import typer

from turnwire.cli.answer_transcript import AnswerTranscript
from turnwire.cli.member_answers import Answering, SigningIn
from turnwire.cli.output import MAKE_KEY, note
from turnwire.client import (
    BrokenStream,
    Client,
    ClientError,
    Completed,
    Ending,
    Failed,
    Hints,
    Paused,
    Refused,
    Turn,
    WrongUsage,
)
from turnwire.errors import SetupError

_TRY_AGAIN: Final = {
    "resume_unavailable": "You are not signed in yet.",
    "confirmation_unavailable": "This was decided before, or has expired: your answer did nothing.",
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

    def __init__(
        self,
        client: Client,
        asked: dict[str, str | None],
        *,
        signing_in: SigningIn,
        as_json: bool,
    ) -> None:
        self._client = client
        self._signing_in = signing_in
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
        agent = f" --agent {self._agent}" if self._agent else ""
        return f"{member} turnwire chat --wire answer{agent} --thread {self._thread}"

    def turn(self, message: str) -> bool:
        """Take one turn; return whether it went well."""
        try:
            if self._client.session is None:
                self._client.new_session()
            ending = self._take(message)
            if not self._as_json and _lacks_sign_in(ending) and self._signing_in.go():
                ending = self._take(message)
        except KeyboardInterrupt:
            note("")
            return False
        except ClientError as error:
            _complain(error)
            return False
        return isinstance(ending, Completed | Paused)

    def _take(self, message: str) -> Ending | None:
        """Take the turn; return how it stands, or none where the person stopped it."""
        turn = self._client.ask(
            message, conversation_id=self._thread, agent=self._agent, hints=self._hints
        )
        try:
            return self._print(turn) if self._as_json else self._show(turn)
        except KeyboardInterrupt:
            _stop(turn)
            return None
        finally:
            turn.close()
            self._thread = turn.conversation_id or self._thread

    def _print(self, turn: Turn) -> Ending:
        ending = turn.wait()
        told = {
            "conversation_id": turn.conversation_id,
            "message_id": turn.message_id,
            **_as_json(ending),
            "text": turn.text,
            "citations": [each.model_dump(mode="json") for each in turn.citations],
        }
        typer.echo(json.dumps(told))
        return ending

    def _show(self, turn: Turn) -> Ending | None:
        transcript, answering = AnswerTranscript(turn), Answering(turn, self._signing_in)
        try:
            _hear(turn, transcript)
            while isinstance(turn.ending, Paused):
                if not answering.answer(turn.ending):
                    note("The turn keeps waiting.")
                    break
                try:
                    _hear(turn, transcript)
                except Refused as refused:
                    if refused.code not in _TRY_AGAIN:
                        raise
                    note(_TRY_AGAIN[refused.code].format(refused))
        finally:
            transcript.break_line()
        return turn.ending


def _hear(turn: Turn, transcript: AnswerTranscript) -> None:
    for event in turn:
        transcript.show(event)


def _lacks_sign_in(ending: Ending | None) -> bool:
    return isinstance(ending, Completed) and ending.finish_reason == "sign_in_required"


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
