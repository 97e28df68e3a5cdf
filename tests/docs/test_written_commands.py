"""What the documents tell a reader to type, to call and to open is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from turnwire.app import Served, create
from turnwire.cli.main import app
from turnwire.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda page: page.as_posix()
)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def _openapi() -> dict[str, Any]:
    return create(Settings.model_construct(), served=Served()).openapi()


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


COMMAND = re.compile(r"^(?:[A-Z]+=\$\()?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?turnwire ([a-z].*)")


def command_lines(text: str) -> list[list[str]]:
    """Return the words after `turnwire` of each command in a shell block or in backticks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).splitlines() + re.findall(r"`([^`\n]+)`", text)
    found = [COMMAND.match(line) for line in lines]
    return [re.sub(r"[)#…].*", "", each[1]).split() for each in found if each]


@pytest.mark.parametrize("name", NAMES)
def test_every_turnwire_command_exists_with_its_options(name: str):
    for words in command_lines(text_of(name)):
        command: Any = typer.main.get_command(app)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, f"{name}: turnwire {words[0]}"
            command = command.commands[words.pop(0)]
        known = {option for each in command.params for option in each.opts} | {"--help"}
        used = {word for word in words if word.startswith("--")}
        assert used <= known, f"{name}: {used - known}"


@pytest.mark.parametrize("name", NAMES)
def test_every_make_target_exists(name: str):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    used = set(re.findall(r"(?:^|`|\s)make ([a-z]+)(?=[`\s])(?! way)", text_of(name)))
    assert used <= targets, f"{name}: {used - targets}"


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file(name: str):
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text_of(name))
    folder = (ROOT / name).parent
    assert [link for link in links if not (folder / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "docs/es/README.md"])
def test_every_curl_line_calls_a_route_that_exists(name: str):
    known = {
        (method.upper(), re.sub(r"\{[^}]*\}", "{}", path))
        for path, methods in _openapi()["paths"].items()
        for method in methods
    }
    lines = text_of(name).replace("\\\n", " ")
    called: set[tuple[str, str]] = set()
    for line in re.findall(r"^curl [^\n]*", lines, re.MULTILINE):
        path = re.search(r"\$URL(/[^\s\"?]*)", line)
        method = re.search(r"-X ([A-Z]+)", line)
        assert path is not None, line
        sent = method[1] if method else ("POST" if " -d " in line else "GET")
        called.add((sent, re.sub(r"\$[A-Z]+", "{}", path[1])))
    assert called
    assert called <= known
