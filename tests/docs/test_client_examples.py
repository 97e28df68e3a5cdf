"""The talks that `docs/clients.md` shows, in Python and in TypeScript, with the member agent."""

import builtins
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.docs.test_written_commands import text_of
from tests.server.running import Process, environment, eventually
from tests.server.shipped import with_index
from tests.sign_in.signing import letters
from turnwire.client import Client

MOBILE = "+447700900101"


def example(language: str, named: str) -> str:
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```", text_of("docs/clients.md"), re.DOTALL | re.MULTILINE
    )
    (found,) = [each for each in blocks if named in each]
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("clients") / "data")
    with Process(data_dir, None) as running:
        yield running


def test_a_talk_in_python_signs_in_and_confirms(server: Process, monkeypatch: pytest.MonkeyPatch):
    names: dict[str, Any] = {}
    exec(example("python", "def talk("), names)
    before = len(letters(server.data_dir))
    typed: list[str | Callable[[], str]] = [
        MOBILE,
        lambda: eventually(lambda: letters(server.data_dir)[before:])[-1]["code"],
        "no",
        "not today",
        "yes",
    ]
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        said = typed.pop(0)
        return said if isinstance(said, str) else said()

    monkeypatch.setattr(builtins, "input", answer)
    with Client(server.url, api_key=server.key("chat")) as client:
        client.new_session()
        told = [
            names["talk"](client, question)
            for question in (
                "Which plan am I on?",
                "Please call me back about my bill",
                "Please call me back about my claim",
            )
        ]
    assert "Essential" in told[0]
    assert "nobody will call you" in told[1]
    assert "It is arranged" in told[2]
    assert prompts[2:4] == [
        "Ask an adviser to call you back about: my bill {'reason': 'my bill'}? ",
        "Why? ",
    ]


def test_a_talk_in_typescript_signs_in_and_confirms(server: Process, built: Path):
    assert built.is_dir()
    driven = """
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Turnwire } from "turnwire-client";

const { TURNWIRE_URL: url, TURNWIRE_API_KEY: key, OUTBOX: outbox } = process.env;
const { session_id: session } = await new Turnwire({ url, key }).openSession();
const client = new Turnwire({ url, key, session });
const known = new Set(readdirSync(outbox));
const typed = {
  "Your mobile: ": () => "+447700900101",
  "The code: ": code,
  "Why? ": () => "not today",
};
async function code() {
  for (;;) {
    const [name] = readdirSync(outbox).filter((each) => each.endsWith(".json") && !known.has(each));
    if (name) return JSON.parse(readFileSync(`${outbox}/${name}`, "utf-8")).code;
    await pause(50);
  }
}
const decide = (prompt) => (prompt.includes("bill") ? "no" : "yes");
const input = async (prompt) => (typed[prompt] ?? decide)(prompt);
const calls = ["Call me back about my bill", "Call me back about my claim"];
for (const question of ["Which plan am I on?", ...calls]) {
  await talk(client, question, input);
  console.log();
}
"""
    outbox = server.data_dir / "outbox"
    outbox.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(needs.node()), "--input-type=module", "-"],
        input=driven + example("js", "function talk("),
        cwd=needs.CLIENT,
        env=environment(
            {
                "TURNWIRE_URL": server.url,
                "TURNWIRE_API_KEY": server.key("chat"),
                "OUTBOX": str(outbox),
            }
        ),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()[-3:]
    assert "Essential" in first
    assert "nobody will call you" in second
    assert "It is arranged" in third
