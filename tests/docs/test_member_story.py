"""What the first pages tell a reader to type for a member's turn does what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_written_commands import ROOT, text_of
from tests.server.running import Process, environment
from tests.server.shipped import with_index
from turnwire.portal.serving import FILE
from turnwire.portal.store import PortalStore


def script(page: str, title: str, url: str) -> str:
    """Return the lines that make the key, and those of the chapter."""
    text = text_of(page)
    chapter = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", chapter, re.DOTALL | re.MULTILINE)
    key = re.search(r"^KEY=.*$", text, re.MULTILINE)
    assert blocks
    assert key is not None
    return "\n".join([key[0], f"URL={url}", *blocks])


@pytest.mark.parametrize(
    ("page", "title", "left"),
    [
        ("README.md", "A member's turn", "5 sessions left"),
        ("docs/es/README.md", "El turno de un miembro", "quedan: 5 sesiones"),
    ],
)
def test_a_member_signs_in_is_answered_and_has_one_call_arranged(
    page: str, title: str, left: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    data_dir = with_index(tmp_path_factory, tmp_path / ".turnwire")
    command = tmp_path / ".venv" / "bin" / "turnwire"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m turnwire "$@"\n')
    command.chmod(0o700)
    with Process(data_dir, None) as server:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script(page, title, server.url)],
            cwd=tmp_path,
            env=environment({"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr + done.stdout
    said = re.sub(r'"\}\n\nid: [^\n]*\nevent: token.delta\ndata: {"text":"', "", done.stdout)
    events = re.findall(r"^event: (\S+)$", said, re.MULTILINE)
    assert {"auth.required", "action.confirmation_required", "action.completed"} <= set(events)
    assert '"signed_in":true' in said
    assert left in said
    assert re.search(r"^20\S+Z +approved +request_callback +cnf_", said, re.MULTILINE), said
    with PortalStore(data_dir / FILE) as portal:
        assert len(portal.actions()) == 1
