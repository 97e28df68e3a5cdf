"""The shipped agent over documents of one's own, with a provider that misbehaves."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.providers.serving import CUT, HANG, Provider, answer, delta
from tests.server.raw import RawClient
from tests.server.reading import text_of
from tests.server.running import InThread, eventually
from turnwire.cli.ingest import ingest_into
from turnwire.settings import read

QUESTION = "How many days of leave does everybody have in a year?"


@pytest.fixture(scope="module")
def guarded(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    docs, data_dir = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("data")
    (docs / "leave.md").write_text(
        "# Leave\n\nEverybody has 31 days of leave a year. Leave is asked for a week before.\n"
    )
    ingest_into(read(data_dir=data_dir), docs, "docs")
    with InThread(
        data_dir,
        agent=None,
        docs=docs,
        model="openai:fake",
        model_base_url=provider.url,
        disconnect_grace_seconds=0,
        hitl=False,
    ) as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(provider: Provider) -> None:
    provider.reset()


def test_a_cited_answer_that_comes_byte_by_byte_arrives_whole(
    guarded: InThread, provider: Provider
):
    stream = answer("Everybody has 31 days of leave ", "a year [1].")
    provider.steps = [bytes([each]) for each in stream]
    with guarded.api().stream(QUESTION) as reader:
        frames = reader.rest()
    done = frames[-1].data
    assert done["content"] == text_of(frames) == "Everybody has 31 days of leave a year [1]."
    assert [each["title"] for each in done["citations"]] == ["Leave"]
    assert (done["cost"]["tokens_in"], done["cost"]["tokens_out"]) == (7, 3)


@pytest.mark.parametrize("leave", ["finish", "reset"])
@pytest.mark.parametrize(
    ("steps", "heard"),
    [
        ([HANG], "generate_response"),
        ([delta("Leave is paid. "), delta("Everybody has "), HANG], "Leave is"),
    ],
    ids=["before the first token", "after a sentence"],
)
def test_a_client_that_leaves_ends_the_paid_call_within_a_second(
    guarded: InThread, provider: Provider, leave: str, steps: list[bytes], heard: str
):
    provider.steps = steps
    client = RawClient(guarded.address, guarded.key("chat", "review"), QUESTION)
    client.read_until("event: node_completed")
    eventually(lambda: provider.open == 1)
    client.read_until(f'"{heard}') if heard == "Leave is" else None
    getattr(client, leave)()
    eventually(lambda: provider.open == 0, within=1)
    assert provider.left == 1
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("status", "steps", "code"),
    [
        (500, [b"{}"], "upstream_unavailable"),
        (429, [b"{}"], "upstream_rate_limited"),
        (200, [delta("Everybody "), delta("has "), CUT], "upstream_unavailable"),
        (200, [CUT], "upstream_unavailable"),
    ],
    ids=["500", "429", "cut after two tokens", "cut at once"],
)
def test_a_provider_that_fails_is_told_once_and_the_conversation_goes_on(
    guarded: InThread, provider: Provider, status: int, steps: list[bytes], code: str
):
    provider.status, provider.steps = status, steps
    api = guarded.api()
    with api.stream(QUESTION) as reader:
        frames = reader.rest()
    assert (frames[-1].event, frames[-1].data["code"]) == ("error", code)
    provider.status, provider.steps = 200, [answer("Everybody has 31 days of leave a year [1].")]
    after = api.chat(QUESTION, thread_id=frames[0].data["thread_id"]).json()
    assert after["content"] == "Everybody has 31 days of leave a year [1]."
    roles = [each["role"] for each in provider.requests[-1]["messages"]]
    assert all(a != b for a, b in pairwise(roles)), roles
