"""A portal that really listens, and those who call it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from turnwire.portal.address import DEMO_SERVICE_KEY, PortalAddress
from turnwire.portal.serving import serving

ANA, DANIEL, GRACE = "+447700900101", "+447700900102", "+447700900105"


class Clock:
    """The portal's time, put forward by hand."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms


Calls = Callable[..., httpx.Client]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def portal(tmp_path: Path, clock: Clock) -> Iterator[PortalAddress]:
    with serving(tmp_path, now=clock) as address:
        yield address


@pytest.fixture
def calls(portal: PortalAddress) -> Iterator[Calls]:
    """Return what makes a caller with a token, a key or nothing."""
    with ExitStack() as closing:

        def caller(token: str | None = None) -> httpx.Client:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            client = httpx.Client(base_url=portal.url, headers=headers, timeout=10)
            return closing.enter_context(client)

        yield caller


@pytest.fixture
def service(calls: Calls) -> httpx.Client:
    return calls(DEMO_SERVICE_KEY)


@pytest.fixture
def sign_in(calls: Calls, service: httpx.Client) -> Callable[[str], httpx.Client]:
    """Return what makes a signed-in member of a number."""

    def member(mobile: str) -> httpx.Client:
        answer = service.post("/service/tokens", json={"mobile": mobile})
        return calls(answer.raise_for_status().json()["token"])

    return member


@pytest.fixture
def ana(sign_in: Callable[[str], httpx.Client]) -> httpx.Client:
    return sign_in(ANA)
