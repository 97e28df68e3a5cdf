"""``turnwire chat``: a terminal client over the stream."""

import importlib
import json
import sys
from collections.abc import Generator
from contextlib import closing, suppress
from typing import Annotated, Any, Literal, Protocol

import typer

from turnwire.app import outbox_of
from turnwire.cli.address import http_url, reachable
from turnwire.cli.answer_talk import AnswerTalk, speaking
from turnwire.cli.answers import AS_MEMBER, answer_to, ask
from turnwire.cli.member_answers import SigningIn
from turnwire.cli.output import MAKE_KEY, AsJson, DataDir, note
from turnwire.cli.reattach import Frame, Refused, ServerAway
from turnwire.cli.serving import serving_from
from turnwire.cli.stream_client import StreamClient
from turnwire.cli.transcript import Transcript
from turnwire.errors import SetupError, TurnwireError
from turnwire.settings import Settings, read


def chat(  # noqa: PLR0913 - options
    message: Annotated[str | None, typer.Argument(help="One question; none: a prompt.")] = None,
    url: Annotated[
        str | None, typer.Option(help="The server's address. [the one that runs here]")
    ] = None,
    key: Annotated[
        str | None, typer.Option(envvar="TURNWIRE_API_KEY", help="Your API key.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's slug. [the first one]")] = None,
    locale: Annotated[Literal["en", "es"] | None, typer.Option(help="The turn's language.")] = None,
    thread: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    wire: Annotated[
        Literal["execution", "answer"],
        typer.Option(help="answer: talk as a member's app does."),
    ] = "execution",
    session: Annotated[
        str | None,
        typer.Option(envvar="TURNWIRE_SESSION", help="The member, on the answer wire. [a new one]"),
    ] = None,
    nodes: Annotated[bool, typer.Option(help="Show what each node did.")] = True,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Talk with an agent: one turn with MESSAGE, else a prompt that Ctrl-D ends.

    Ctrl-C stops an answer. With --json, only the final ChatResponse is printed, or on the answer
    wire what the turn came to.

    Example: turnwire chat --agent guarded "What helps against a fever?"
    """
    if not key:
        raise SetupError(
            f"chat needs an API key. Make one with\n  {MAKE_KEY}\n"
            "and give it with --key or in the variable TURNWIRE_API_KEY."
        )
    asked = {"agent": agent, "locale": locale, "thread_id": thread}
    settings = read(data_dir=data_dir)
    address = url or _here(settings)
    if wire == "answer":
        outbox = outbox_of(settings) if url is None else None
        with speaking(address, key, session, thread) as members:
            signing_in = SigningIn(members, outbox=outbox)
            _take(message, AnswerTalk(members, asked, signing_in=signing_in, as_json=as_json))
        return
    with StreamClient(address, key.strip()) as client:
        _take(message, Talk(client, asked, nodes=nodes, as_json=as_json))


def _here(settings: Settings) -> str:
    """Return where the server of this data directory listens, or would by its settings."""
    running = serving_from(settings.data_dir)
    if running is not None:
        return running.address
    return http_url(reachable(settings.host), settings.port)


class Taking(Protocol):
    """A conversation, on whatever wire."""

    @property
    def later(self) -> str | None:
        """The command that goes on with it, once it has begun."""
        ...

    def turn(self, message: str, /) -> bool:
        """Take one turn; return whether it went well."""
        ...


def _take(message: str | None, talk: Taking) -> None:
    """Take one turn, or turns until the person has no more to say."""
    if message is None:
        _go_on(talk)
    elif not talk.turn(message):
        raise typer.Exit(1)


def _go_on(talk: Taking) -> None:
    if sys.stdin.isatty():
        # Gives `input` its line editing; Windows has none, and needs none.
        with suppress(ImportError):
            importlib.import_module("readline")
    note("Ctrl-D ends, Ctrl-C stops an answer.")
    while True:
        try:
            said = ask("> ")
        except KeyboardInterrupt:
            note("")
            continue
        if said is None:
            break
        if said.strip():
            talk.turn(said)
    if talk.later:
        note(f"\nTo go on later: {talk.later}")


class Talk:
    """One conversation on the execution wire, turn by turn."""

    def __init__(
        self, client: StreamClient, asked: dict[str, str | None], *, nodes: bool, as_json: bool
    ) -> None:
        self._client = client
        self._asked = asked
        self._nodes = nodes
        self._as_json = as_json

    @property
    def later(self) -> str | None:
        """See :class:`Taking`."""
        thread = self._asked["thread_id"]
        return f"turnwire chat --thread {thread}" if thread else None

    def turn(self, message: str) -> bool:
        """Take one turn; return whether it went well."""
        try:
            self._know_agent()
            if self._as_json:
                self._print(message)
                return True
            return self._show(message)
        except KeyboardInterrupt:
            self._cancel()
        except (Refused, ServerAway) as error:
            _complain(error)
        return False

    def _know_agent(self) -> None:
        """A conversation belongs to one agent: go on with that one, unless another is named."""
        if self._asked["thread_id"] and not self._asked["agent"]:
            self._asked["agent"] = self._client.agent_of(self._asked["thread_id"])

    def _body(self, message: str) -> dict[str, Any]:
        given = {name: value for name, value in self._asked.items() if value is not None}
        return {"messages": [{"role": "user", "content": message}], **given}

    def _print(self, message: str) -> None:
        response = self._client.answer(self._body(message))
        self._asked["thread_id"] = str(response.get("thread_id"))
        typer.echo(json.dumps(response))

    def _show(self, message: str) -> bool:
        transcript = Transcript(nodes=self._nodes)
        try:
            last = self._follow(self._client.begin(self._body(message)), transcript)
            while last.name == "paused":
                answer = answer_to(last.body, may_review=self._client.may_review)
                if answer is None:
                    note("The turn keeps waiting.")
                    return True
                last = self._resume(answer, last, transcript)
        finally:
            transcript.break_line()
        if last.body.get("finish_reason") == "sign_in_required":
            note(f"Talk as a member to sign in: {AS_MEMBER}")
        return last.name == "turn_completed"

    def _resume(self, answer: dict[str, Any], paused: Frame, transcript: Transcript) -> Frame:
        """Return how the next run ended; or the same pause, where the answer was not valid."""
        try:
            return self._follow(self._client.resume(answer, paused=paused), transcript)
        except Refused as refused:
            if refused.reason != "validation_error":
                raise
            _complain(refused)
            return paused

    def _follow(self, frames: Generator[Frame], transcript: Transcript) -> Frame:
        last: Frame | None = None
        with closing(frames):
            for last in frames:
                if last.name == "graph_topology":
                    self._asked["thread_id"] = str(last.body["thread_id"])
                transcript.show(last)
        if last is None:
            raise ServerAway("the server closed an empty stream")
        return last

    def _cancel(self) -> None:
        """Stop the turn, so that no further token is paid for."""
        stopped = False
        if self._asked["thread_id"]:
            with suppress(Refused, ServerAway):
                stopped = self._client.cancel(self._asked["thread_id"])
        note("Stopped." if stopped else "Left; the server stops the turn if it still runs.")


def _complain(error: TurnwireError) -> None:
    note(f"turnwire: {error}", "red")
    if isinstance(error, Refused) and error.answered == 401:
        note(f"Make a key on the server's machine: {MAKE_KEY}")
