"""The member agent as it ships, beside a demo portal, and members who sign in with a code."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx
from fastapi import FastAPI

from tests.agents.member.stage import ENCODER, INSURANCE, WORDINGS, Wordings
from tests.server.answering import asked
from tests.server.reading import Frame
from tests.server.running import Api, InThread, Process, Server, eventually
from tests.sign_in.signing import letters
from turnwire.agents.member import MemberParts, build, manifest
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.app import Served, create
from turnwire.models.quoting import Quoting
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Tool
from turnwire.portal.address import PortalAddress
from turnwire.portal.serving import FILE, serving

DANIEL: Final = "+447700900102"
"""On the plan Family, with a claim CLM-2026-1090 and some of the dental limit used."""
PLENTY: Final = 10_000
CALL: Final = "POST /me/callbacks"


class DemoPortal:
    """A demo portal's switches, and what really happened there."""

    def __init__(self, address: PortalAddress, file: Path) -> None:
        self.address = address
        self.file = file
        self._http = httpx.Client(base_url=address.url)

    def switch(self, **switches: Any) -> None:  # noqa: ANN401
        """Put all switches anew; none: everything is well."""
        self._http.put("/demo/switches", json=switches).raise_for_status()

    def acted(self) -> list[Mapping[str, Any]]:
        """Return every call-back and change of address that happened."""
        return self._http.get("/demo/actions").raise_for_status().json()

    def forget(self) -> None:
        """Be well, and have done nothing."""
        self.switch()
        self._http.delete("/demo/actions").raise_for_status()

    def close(self) -> None:
        self._http.close()


@contextmanager
def portal_at(directory: Path) -> Generator[DemoPortal]:
    """Run a demo portal in a thread, with a file of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    with serving(directory) as address:
        portal = DemoPortal(address, directory / FILE)
        try:
            yield portal
        finally:
            portal.close()


def settings_for(portal: DemoPortal) -> dict[str, Any]:
    """Return the settings of a server whose members are this portal's."""
    return {
        "portal_url": portal.address.url,
        "portal_service_key": portal.address.service_key,
        "sign_in_codes": PLENTY,
        "sign_in_codes_per_address": PLENTY,
    }


class Membership(InThread):
    """The agents that ship, for members of a portal."""

    def __init__(self, data_dir: Path, portal: DemoPortal, **settings: object) -> None:
        super().__init__(data_dir, None, **{**settings_for(portal), **settings})
        self.portal = portal


def parts_of(tools: Sequence[Tool]) -> MemberParts:
    """Return what the member agent is made of, with two passages for an index."""
    return MemberParts(
        policy=INSURANCE,
        model=Quoting(encoder=ENCODER),
        model_name="quoting",
        retriever=Wordings(texts=WORDINGS),
        encoder=ENCODER,
        tools=tools,
        actions=Executor(Registry(tools, locales=("en", "es")), rules=INSURANCE.pii),
    )


class Impatient(Membership):
    """The member agent, which waits a moment for the portal and for a word on a call-back."""

    seconds = 0.6

    def application(self) -> FastAPI:
        """See :class:`InThread`."""
        client = portal_client(self.portal.address.url, seconds=self.seconds)
        parts = parts_of(
            [
                replace(each, expires_in=self.seconds if each.name == "request_callback" else 60.0)
                for each in portal_tools(client)
            ]
        )
        served = Served(((build(parts), manifest(parts)),), closing=(client.aclose,))
        return create(self.settings, served=served)


def sign_in(server: Server, api: Api, mobile: str = DANIEL) -> str:
    """Sign a member in as an app does, and return the code that was sent."""
    before = len(letters(server.data_dir))
    assert api.http.post("/auth/login", json={"mobile": mobile}).status_code == 202
    code = eventually(lambda: letters(server.data_dir)[before:])[0]["code"]
    answer = api.http.post("/auth/verify", json={"mobile": mobile, "code": code})
    assert answer.status_code == 200, answer.text
    return code


def member(server: Membership | Process, *scopes: str, signed_in: bool = True) -> Api:
    """Return a member with a session of their own."""
    api = server.api(*(scopes or ("chat",))).be_member()
    if signed_in:
        sign_in(server, api)
    return api


def ask(api: Api, message: str, **more: object) -> list[Frame]:
    """Ask the member agent and return the whole stream."""
    return asked(api, message, headers=None, agent="member", **more)


def said(frames: list[Frame]) -> str:
    return "".join(each.data["text"] for each in frames if each.event == "token.delta")


def names(frames: list[Frame]) -> list[str]:
    return [each.event for each in frames]


def finish(frames: list[Frame]) -> str:
    last = frames[-1].data
    return str(last.get("finish_reason") or last["code"])


def conversation(frames: list[Frame]) -> str:
    return str(frames[0].data["conversation_id"])


def cards(frames: list[Frame]) -> dict[str, str]:
    """Return the confirmations that are asked for, by the tool's name."""
    found = [each.data for each in frames if each.event == "action.confirmation_required"]
    return {each["name"]: each["confirmation_id"] for each in found}


def decide(
    api: Api,
    frames: list[Frame],
    decision: str = "approve",
    tool: str = "request_callback",
    **more: object,
) -> list[Frame]:
    """Answer the confirmation of a tool."""
    return api.post(
        "/chat/confirm",
        conversation_id=conversation(frames),
        confirmation_id=cards(frames)[tool],
        decision=decision,
        **more,
    )


def tools(frames: list[Frame]) -> list[tuple[str, str]]:
    """Return the calls that ended, with their status."""
    done = [each.data for each in frames if each.event == "tool.completed"]
    return [(each["name"], each["status"]) for each in done]


def actions(frames: list[Frame]) -> list[str]:
    """Return how actions ended."""
    return [each.data["status"] for each in frames if each.event == "action.completed"]
