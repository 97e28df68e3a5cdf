"""What the tests of confirmations have in common: an upstream, a server, and members who decide."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from tests.server.answering import asked
from tests.server.reading import Frame
from tests.server.running import Api
from turnwire.cli.main import app as command_line

GRAPH = "tests.server.acting_graph:acting"


@dataclass
class Waiting:
    """A turn that waits for a member's word, and the cards that they see."""

    api: Api
    frames: list[Frame]

    @property
    def conversation_id(self) -> str:
        return self.frames[0].data["conversation_id"]

    @property
    def ids(self) -> dict[str, str]:
        """The confirmations by their reasons."""
        cards = [each.data for each in self.frames if each.event == "action.confirmation_required"]
        return {each["arguments_preview"]["reason"]: each["confirmation_id"] for each in cards}

    def body(self, reason: str, decision: object = "approve", **more: object) -> dict[str, Any]:
        return {
            "conversation_id": self.conversation_id,
            "confirmation_id": self.ids[reason],
            "decision": decision,
            **more,
        }

    def decide(self, reason: str, decision: object = "approve", **more: object) -> httpx.Response:
        return self.api.http.post("/chat/confirm", json=self.body(reason, decision, **more))

    def decided(self, reason: str, decision: object = "approve", **more: object) -> list[Frame]:
        return self.api.post("/chat/confirm", **self.body(reason, decision, **more))


def propose(
    api: Api,
    url: str,
    *reasons: str,
    tool: str = "book_call",
    conversation_id: str | None = None,
) -> Waiting:
    """Have so many actions proposed."""
    message = " | ".join((f"{url} {tool}", *reasons))
    more = {} if conversation_id is None else {"conversation_id": conversation_id}
    return Waiting(api, asked(api, message, headers=None, **more))


def ended(frames: list[Frame]) -> list[tuple[str, str, str | None]]:
    """Return how actions ended: id, status and error."""
    return [
        (each.data["confirmation_id"], each.data["status"], each.data.get("error"))
        for each in frames
        if each.event == "action.completed"
    ]


def audit(data_dir: Path, *options: str) -> list[dict[str, str]]:
    """Return what ``turnwire audit`` tells."""
    arguments = ["audit", "--json", "--data-dir", str(data_dir), *options]
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def steps(data_dir: Path, confirmation_id: str) -> list[str]:
    """Return what the audit says of one confirmation."""
    return [
        each["result"] for each in audit(data_dir) if each["confirmation_id"] == confirmation_id
    ]
