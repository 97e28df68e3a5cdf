"""How codes are sent: as files for their owner only, or to a webhook that knows who sent them."""

import base64
import hashlib
import hmac
import json
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from turnwire.sign_in.http import Unreachable
from turnwire.sign_in.senders import Outbox, Sent, Webhook, is_secret

pytestmark = pytest.mark.anyio

SENT = Sent("+447700900123", "123456", "2027-01-15T08:00:00.000+00:00")
KEY = b"k" * 32
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
BODY = {"mobile": SENT.mobile, "code": SENT.code, "expires_at": SENT.expires_at}


async def test_the_outbox_has_one_file_a_code_that_only_its_owner_reads(tmp_path: Path):
    outbox = Outbox(tmp_path / "outbox", now=lambda: 5)
    for _ in range(3):
        await outbox.send(SENT)
    await outbox.close()
    found = list((tmp_path / "outbox").iterdir())
    assert len(found) == 3
    for each in found:
        assert json.loads(each.read_text("utf-8")) == BODY
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
        assert each.suffix == ".json"
        assert not [told for told in ("7700900123", "123456") if told in each.name]
    assert stat.S_IMODE((tmp_path / "outbox").stat().st_mode) == 0o700


async def test_an_outbox_that_cannot_be_written_says_so_and_nothing_else(tmp_path: Path):
    (tmp_path / "outbox").write_text("in the way")
    with pytest.raises(Unreachable) as failed:
        await Outbox(tmp_path / "outbox", now=lambda: 5).send(SENT)
    assert "outbox" in str(failed.value)
    assert "123456" not in str(failed.value)


class _Service:
    def __init__(self, *answers: int | Callable[[httpx.Request], httpx.Response]) -> None:
        self.answers = list(answers)
        self.heard: list[httpx.Request] = []
        self.webhook = Webhook(
            "https://sms.example.org/codes?team=1",
            SECRET,
            now=lambda: 1_800_000_000_500,
            http=httpx.AsyncClient(transport=httpx.MockTransport(self._answer)),
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.heard.append(request)
        answer = self.answers.pop(0)
        return httpx.Response(answer) if isinstance(answer, int) else answer(request)

    async def send(self) -> None:
        try:
            await self.webhook.send(SENT)
        finally:
            await self.webhook.close()


def _refuses_to_connect(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError(f"no: {request.content!r}")


async def test_the_webhook_is_signed_as_standard_webhooks_says():
    service = _Service(204)
    await service.send()
    (request,) = service.heard
    assert json.loads(request.content) == BODY
    assert (request.method, str(request.url)) == ("POST", "https://sms.example.org/codes?team=1")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-timestamp"] == "1800000000"
    signed = f"{request.headers['webhook-id']}.1800000000.".encode() + request.content
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"


@pytest.mark.parametrize("first", [500, 503, 429, _refuses_to_connect])
async def test_what_may_pass_by_itself_is_tried_once_more_under_the_same_id(
    first: int | Callable[[httpx.Request], httpx.Response],
):
    service = _Service(first, 200)
    await service.send()
    assert len({each.headers["webhook-id"] for each in service.heard}) == 1
    assert len(service.heard) == 2


@pytest.mark.parametrize(
    ("answers", "tries"),
    [((500, 500, 200), 2), ((_refuses_to_connect,) * 3, 2), ((400, 200), 1), ((302, 200), 1)],
)
async def test_a_code_that_is_not_taken_is_given_up_and_not_repeated_in_the_error(
    answers: tuple[int | Callable[[httpx.Request], httpx.Response], ...], tries: int
):
    service = _Service(*answers)
    with pytest.raises(Unreachable) as failed:
        await service.send()
    assert len(service.heard) == tries
    assert not [each for each in ("123456", "7700900123") if each in repr(failed.value)]
    assert failed.value.__cause__ is None


def test_a_secret_is_what_standard_webhooks_calls_one():
    assert is_secret(SECRET)
    for each in ("", "whsec_", "whsec_%%", SECRET.removeprefix("whsec_"), "whsec_c2hvcnQ=", "é"):
        assert not is_secret(each)
    assert "123456" not in repr(SENT)
    assert "7700900123" not in repr(SENT)
