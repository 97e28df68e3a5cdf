"""``turnwire chat --wire answer``: signing in within the talk, and confirmations in any number."""

import builtins
import time
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner, Result

from tests.server.acting_graph import SHORT
from tests.server.confirming import GRAPH
from tests.server.running import InThread, Server, eventually
from tests.server.signing import SigningIn
from tests.server.upstream import Upstream
from tests.sign_in.signing import KNOWN, letters
from turnwire.cli.main import app

Types = Callable[..., None]


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Types:
    """Let a person type these lines, each when it is asked for; then Ctrl-D."""

    def types(*lines: str | Callable[[], str]) -> None:
        left = list(lines)

        def typed(prompt: str = "") -> str:
            if not left:
                raise EOFError
            line = left.pop(0)
            return line if isinstance(line, str) else line()

        monkeypatch.setattr(builtins, "input", typed)

    return types


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SigningIn]:
    with SigningIn(tmp_path_factory.mktemp("signing")) as server:
        yield server


def run(server: Server, *args: str) -> Result:
    about = ["chat", "--wire", "answer", "--url", server.url, "--key", server.key("chat")]
    return CliRunner().invoke(app, [*about, *args])


def newest(server: SigningIn) -> Callable[[], str]:
    before = len(letters(server.data_dir))
    return lambda: eventually(lambda: letters(server.data_dir)[before:])[-1]["code"]


def test_a_member_signs_in_within_the_talk_and_the_turn_goes_on(signing: SigningIn, types: Types):
    types("07700 900123", KNOWN, "000000", newest(signing))
    result = run(signing, "sign-in")
    assert result.stdout.startswith("In general, two days. \nYou have ten days. [2]\n")
    assert "with its country code, such as" in result.stderr
    assert "This code is wrong or has expired." in result.stderr
    assert result.exit_code == 0


def test_who_does_not_sign_in_leaves_the_turn_waiting(signing: SigningIn, types: Types):
    types()
    result = run(signing, "sign-in")
    assert result.stderr.count("I need you to sign in.") == 1
    assert "The turn keeps waiting." in result.stderr


def test_where_codes_are_files_here_the_folder_is_named(
    signing: SigningIn, types: Types, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TURNWIRE_DATA_DIR", str(signing.data_dir))
    monkeypatch.setenv("TURNWIRE_PORT", signing.url.rpartition(":")[2])
    types(KNOWN)
    key = signing.key("chat")
    result = CliRunner().invoke(app, ["chat", "--wire", "answer", "--key", key, "sign-in"])
    assert f"the newest one in {signing.data_dir / 'outbox'}" in result.stderr


@pytest.fixture(scope="module")
def acting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    with InThread(tmp_path_factory.mktemp("acting"), GRAPH) as server:
        yield server


def test_several_actions_are_decided_one_after_the_other(acting: InThread, types: Types):
    types("y", "n", "not this one", "approve")
    with Upstream() as centre:
        result = run(acting, f"{centre.url} book_call | one | two | three")
    assert result.stdout == "one: ok; three: ok; two: rejected {'feedback': 'not this one'}\n"
    assert sorted(centre.booked) == ["one", "three"]
    assert result.stderr.count("Book a call about: ") == 3


def test_an_answer_that_came_too_late_did_nothing_and_is_said_to(acting: InThread, types: Types):
    def late() -> str:
        time.sleep(SHORT + 0.2)
        return "y"

    types(late)
    with Upstream() as centre:
        result = run(acting, f"{centre.url} soon_call | late")
    assert "has expired: your answer did nothing" in result.stderr
    assert "The turn keeps waiting." in result.stderr
    assert (result.stdout, list(centre.booked)) == ("", [])
