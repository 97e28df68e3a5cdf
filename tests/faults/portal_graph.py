"""The member agent for a server that is killed: it starts without an index of documents."""

from typing import Any, Final

from tests.faults.membership import parts_of
from turnwire.agents.member import build
from turnwire.agents.member import manifest as manifest_of
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.settings import read


def _url() -> str:
    url = read().portal_url
    assert url is not None, "TURNWIRE_PORTAL_URL says where the portal is"
    return url


_PARTS: Final = parts_of(portal_tools(portal_client(_url())))
member_manifest: Final = manifest_of(_PARTS)


def member() -> Any:  # noqa: ANN401 - a compiled graph
    """Return the graph."""
    return build(_PARTS)
