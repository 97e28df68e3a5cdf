"""A server for members in a thread, with people who may be signed in."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI

from tests.server.member_graph import SignIns
from tests.server.reading import Frame
from tests.server.running import Api, InThread
from turnwire.app import create


class Members(InThread):
    """Serves :func:`tests.server.member_graph.member`."""

    def __init__(self, data_dir: Path, **settings: object) -> None:
        self.sign_ins = SignIns()
        super().__init__(data_dir, "tests.server.member_graph:member", **settings)

    def api(self, *scopes: str, key: str | None = None) -> Api:
        """Return a member, who comes with a session of their own; without ``chat`` a mere key."""
        caller = super().api(*scopes, key=key)
        return caller.be_member() if not scopes or "chat" in scopes else caller

    def keyed(self, *scopes: str) -> Api:
        """Return an application that speaks for nobody in particular."""
        return super().api(*scopes)

    def stranger(self, *scopes: str) -> Api:
        """Return a member of another application."""
        return super().stranger(*scopes).be_member()

    def application(self) -> FastAPI:
        """See :class:`InThread`."""
        return create(self.settings, sign_ins=self.sign_ins)


def asked(
    api: Api, message: str, *, headers: Mapping[str, str] | None = None, **more: object
) -> list[Frame]:
    """Ask on the answer wire and return the whole stream."""
    with api.ask(message, headers=headers, **more) as reader:
        return reader.rest()


def told_again(api: Api, frames: list[Frame], *, after: str | None = None) -> list[Frame]:
    """Attach to the message that these frames opened."""
    opened = frames[0].data
    with api.message(opened["conversation_id"], opened["message_id"], after=after) as reader:
        return reader.rest()


def card(frames: list[Frame], event: str) -> dict[str, object]:
    """Return what the one frame of that name carries."""
    (found,) = [each.data for each in frames if each.event == event]
    return found
