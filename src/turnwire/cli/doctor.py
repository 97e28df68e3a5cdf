"""``turnwire doctor``: what is configured, reachable, missing, and what to do next."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import typer
from rich.table import Table

from turnwire.cli import check_members, stored
from turnwire.cli.address import bound, http_url, reachable
from turnwire.cli.check import Check, Status
from turnwire.cli.check_models import chain, model, public
from turnwire.cli.check_traces import traces
from turnwire.cli.output import STDOUT, AsJson, DataDir, literal
from turnwire.cli.serving import serving_from
from turnwire.errors import SetupError
from turnwire.models.roles import ANSWER
from turnwire.nodes.guardrails.policy import find_policy, shipped_policy
from turnwire.settings import Settings, read

_PYTHON: Final = (3, 11)
_REACH_SECONDS: Final = 3.0
_COLOURS: Final[dict[Status, str]] = {
    "ok": "green",
    "warning": "yellow",
    "missing": "red",
    "broken": "red",
}


def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Look at everything turnwire needs, and say what to do about what is missing.

    Exits with 1 if something is missing or broken. Calls no model and changes nothing.

    Example: turnwire doctor --data-dir .turnwire
    """
    checks = examine(data_dir)
    failed = any(each.fails for each in checks)
    if as_json:
        typer.echo(json.dumps({"ok": not failed, "checks": [asdict(each) for each in checks]}))
    else:
        _print(checks)
    if failed:
        raise typer.Exit(1)


def examine(data_dir: Path | None) -> list[Check]:
    """Return what each check found."""
    try:
        settings = read(data_dir=data_dir)
    except (SetupError, OSError, UnicodeDecodeError) as error:
        step = "correct the TURNWIRE_ variable or the line in turnwire.toml"
        return [_python(), Check("settings", "broken", str(error), step)]
    checks: dict[str, Callable[[Settings], Check]] = {
        "settings": _settings,
        "data directory": stored.data_directory,
        "turnwire.db": stored.turns_db,
        "checkpoints.db": stored.checkpoints_db,
        "memory.db": stored.memory_db,
        "index.db": stored.index_db,
        "model": model,
        **{f"model {role}": partial(chain, role=role) for role in settings.roles if role != ANSWER},
        "policy": _policy,
        "API keys": stored.api_keys,
        "portal": check_members.portal,
        "sign-in": check_members.sign_in,
        "traces": traces,
        "server": _server,
    }
    return [_python(), *(_tried(name, check, settings) for name, check in checks.items())]


def _tried(name: str, check: Callable[[Settings], Check], settings: Settings) -> Check:
    try:
        return check(settings)
    except Exception as error:  # the other checks are still worth something
        # Not its text: nobody knows what stands in it.
        return Check(name, "broken", f"the check itself failed: {type(error).__name__}")


def _print(checks: Sequence[Check]) -> None:
    table = Table("", "check", "found", box=None, pad_edge=False)
    for each in checks:
        found = each.found if each.next_step is None else f"{each.found}\n→ {each.next_step}"
        status = literal(each.status, _COLOURS[each.status])
        table.add_row(status, literal(each.name), literal(found))
    STDOUT.print(table, soft_wrap=False)


def _python() -> Check:
    found = sys.version.split()[0]
    if sys.version_info < _PYTHON:
        return Check("python", "broken", found, "install Python 3.11 or newer")
    return Check("python", "ok", found)


def _settings(settings: Settings) -> Check:
    given = ", ".join(
        f"{name} = {_shown(settings, name)}" for name in sorted(settings.model_fields_set)
    )
    file = "turnwire.toml" if Path("turnwire.toml").is_file() else "no turnwire.toml"
    return Check("settings", "ok", f"{file}; {given or 'nothing is set, all by default'}")


def _shown(settings: Settings, name: str) -> str:
    if name == "roles":
        return " and ".join(settings.roles)
    if not Settings.model_fields[name].repr:
        return "(hidden)"
    return public(str(getattr(settings, name)))


def _policy(settings: Settings) -> Check:
    if settings.agent is not None:
        return Check("policy", "ok", "not used: you serve a graph of your own")
    try:
        if settings.policy is not None:
            found = f"{settings.policy} ({find_policy(settings.policy).name})"
        else:
            found = ", ".join(shipped_policy(each).name for each in ("health", "docs"))
            found = f"{found} (shipped)"
    except SetupError as error:
        return Check("policy", "broken", str(error), "correct the file at the line that is named")
    return Check("policy", "ok", found)


def _server(settings: Settings) -> Check:
    running = serving_from(settings.data_dir)
    if running is None and settings.port == 0:
        return Check("server", "ok", "takes a free port when it starts")
    ours = http_url(reachable(settings.host), settings.port)
    where = ours if running is None else running.address
    try:
        answer = httpx.get(f"{where}/readyz", timeout=_REACH_SECONDS, trust_env=False)
        state = answer.json()["status"]
    except httpx.ConnectError:
        if running is None:
            return _port(settings)
        found = f"it runs, and can't be reached at {where}"
        return Check("server", "warning", found, "look at the server's log")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        found = f"something that is not turnwire answers at {where}"
        return Check("server", "broken", found, "choose another port with --port")
    if answer.status_code == 200:
        return Check("server", "ok", f"{where} is {state}")
    return Check("server", "warning", f"{where} is {state}", "look at the server's log")


def _port(settings: Settings) -> Check:
    where = f"{settings.host}:{settings.port}"
    try:
        bound(settings.host, settings.port).close()
    except OSError as error:
        found = f"no server, and {where} can't be listened on: {error.strerror}"
        return Check("server", "broken", found, "choose another with --host and --port")
    return Check("server", "warning", f"not running; {where} is free", "turnwire serve")
