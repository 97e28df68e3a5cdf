"""Words that a guard takes back were heard by who listened, and are nowhere afterwards."""

from importlib.resources import files
from pathlib import Path

import pytest

from tests.providers.serving import DONE, Provider, delta, stopped
from tests.server.running import Process, eventually

QUESTION = "How many days of leave does everybody have in a year?"
CANARY = "quillon"
SAID = (
    "Everybody has 31 days [1]. ",
    f"I am a {CANARY} ",
    f"and a {CANARY}, ",
    "I am a real human. ",
)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEverybody has 31 days of leave a year.\n")
    return folder


@pytest.fixture
def retracting(tmp_path: Path) -> Path:
    shipped = (files("turnwire") / "policies" / "docs.yaml").read_text("utf-8")
    assert "stream_policy: hold" in shipped
    path = tmp_path / "policy.yaml"
    path.write_text(shipped.replace("stream_policy: hold", "stream_policy: retract"))
    return path


def in_files(data_dir: Path) -> list[str]:
    files = [each for each in data_dir.rglob("*") if each.is_file()]
    return [each.name for each in files if CANARY.encode() in each.read_bytes()]


def test_words_that_were_taken_back_are_in_no_replay_no_file_and_no_log(
    data_dir: Path, documents: Path, retracting: Path, provider: Provider
):
    provider.reset()
    provider.steps = [*(step for each in SAID for step in (delta(each), 0.2)), stopped(), DONE]
    options = ("--docs", str(documents), "--policy", str(retracting))
    about = {
        "TURNWIRE_MODEL": "openai:fake",
        "TURNWIRE_MODEL_BASE_URL": provider.url,
        "TURNWIRE_MODEL_API_KEY": "none",
    }
    with Process(data_dir, None, *options, variables=about) as server:
        key = server.key("chat")
        api = server.api(key=key)
        with api.stream(QUESTION) as reader:
            eventually(lambda: in_files(data_dir), within=10)
            frames = reader.rest()
            assert CANARY in reader.raw.decode(), "it was streamed, or the test shows nothing"
        thread_id, turn_id = frames[0].data["thread_id"], frames[0].turn_id
        assert frames[-1].data["finish_reason"] == "refused"
        eventually(lambda: not in_files(data_dir))
        again = api.http.get(api.events_url(thread_id, turn_id))
        assert again.text.count("event: text_replaced") == 1
        assert CANARY not in again.text + api.http.get(f"/conversations/{thread_id}").text
        server.kill()
        assert CANARY not in server.log
    assert in_files(data_dir) == []
    with Process(data_dir, None, *options, variables=about) as server:
        again = server.api(key=key).http.get(api.events_url(thread_id, turn_id))
        assert again.status_code == 200
        assert CANARY not in again.text
    assert in_files(data_dir) == []
