"""``turnwire keys`` and ``turnwire link``: who is let in."""

import json
import secrets
from typing import Annotated, Final

import typer
from rich.table import Table

from turnwire.admission.api_keys import MAX_PER_MINUTE, digest, new_key, new_secret, shown
from turnwire.admission.principal import SCOPES
from turnwire.app import access_policy
from turnwire.cli.address import http_url, reachable
from turnwire.cli.output import MAKE_KEY, STDOUT, AsJson, DataDir, literal, note
from turnwire.cli.serving import serving_from
from turnwire.cli.store import with_store
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.settings import Settings, read
from turnwire.storage.base import KeyRecord, Store
from turnwire.wires.base import iso

LINK_SECONDS: Final = 24 * 3600
_COLUMNS: Final = {
    "id": "id",
    "name": "name",
    "env": "environment",
    "scopes": "scopes",
    "limit": "per_minute",
    "created": "created_at",
    "used": "last_used_at",
    "revoked": "revoked_at",
}
"""The list's columns, and what they show of a key."""

app = typer.Typer(help="API keys: create, list, limit, rotate, revoke.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[str], typer.Option(help=f"Repeatable: {', '.join(SCOPES)}.")],
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_PER_MINUTE,
            help="Requests a minute. [default: the server's key_requests_per_minute]",
            show_default=False,
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once.

    A key is for one environment: with TURNWIRE_ENVIRONMENT=production it is a live key, which
    servers in production take; without, it is a test key for all others.

    Example: turnwire keys create --name my-app --scope chat --scope review
    """
    unknown = [each for each in scope if each not in SCOPES]
    if unknown:
        raise SetupError(f"there is no scope {unknown[0]!r}; choose of: {', '.join(SCOPES)}")
    settings = read(data_dir=data_dir)
    policy = access_policy(settings).keys
    key, record = new_key(policy, name=name, scopes=scope, now=system_now(), per_minute=limit)
    with_store(settings, lambda store: store.add_key(record))
    _tell_once(key, record, as_json=as_json)


@app.command("list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets.

    Example: turnwire keys list --json
    """
    records = with_store(read(data_dir=data_dir), lambda store: store.keys())
    if as_json:
        typer.echo(json.dumps([_facts(each) for each in records]))
        return
    table = Table(box=None, pad_edge=False)
    for title, name in _COLUMNS.items():
        # Ids and days are whole, for they are read by eye and copied; the rest folds.
        whole = name == "id" or name.endswith("_at")
        widest = max(len(_cell(each, name)) for each in records) if whole and records else None
        table.add_column(title, overflow="fold", no_wrap=whole, min_width=widest)
    for each in records:
        table.add_row(*(literal(_cell(each, name)) for name in _COLUMNS.values()))
    STDOUT.print(table, soft_wrap=False)


@app.command()
def rotate(
    key_id: str,
    grace: Annotated[
        int,
        typer.Option(min=0, help="For how many seconds the secret before it is still taken."),
    ] = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Give a key a new secret and print it, once.

    The key stays the same one, with its id, its scopes, its limit and its conversations. Without
    a grace the old secret is refused within two seconds, and its open streams end within five.

    Example: turnwire keys rotate 5f0c1d2e3a4b5c6d --grace 3600
    """
    settings, secret = read(data_dir=data_dir), new_secret()
    until = system_now() + grace * 1000 if grace else None

    async def turn(store: Store) -> KeyRecord | None:
        turned = await store.rotate_key(key_id, digest(secret), previous_until_ms=until)
        return await store.key(key_id) if turned else None

    record = with_store(settings, turn)
    if record is None:
        raise _no_such(key_id)
    _tell_once(shown(access_policy(settings).keys, record, secret), record, as_json=as_json)


@app.command("limit")
def limit_key(
    key_id: str,
    per_minute: Annotated[
        int | None,
        typer.Argument(min=1, max=MAX_PER_MINUTE, help="Requests a minute.", show_default=False),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="As many as the server's key_requests_per_minute.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Change how many requests a minute a key may make; a running server knows within two seconds.

    Example: turnwire keys limit 5f0c1d2e3a4b5c6d 600
    """
    if (per_minute is None) != default:
        raise SetupError("name the requests a minute, or --default for the server's setting")
    settings = read(data_dir=data_dir)
    if not with_store(settings, lambda store: store.limit_key(key_id, per_minute)):
        raise _no_such(key_id)


@app.command()
def revoke(key_id: str, data_dir: DataDir = None) -> None:
    """Revoke a key by its id; a running server refuses it within two seconds.

    Its open streams end within five seconds.

    Example: turnwire keys revoke 5f0c1d2e3a4b5c6d
    """
    now = system_now()
    revoked = with_store(read(data_dir=data_dir), lambda store: store.revoke_key(key_id, now=now))
    if not revoked:
        raise _no_such(key_id)


def link_command(
    data_dir: DataDir = None,
    port: Annotated[
        int | None, typer.Option(help="The running server's port. [the one it listens on]")
    ] = None,
) -> None:
    """Print a new one-time link to the page of a server that runs on this machine.

    Example: turnwire link
    """
    settings = read(data_dir=data_dir, port=port)
    running = serving_from(settings.data_dir)
    why_not = no_page(settings) if running is None else running.no_page
    if why_not is not None:
        raise SetupError(
            f"the server has no page and takes no links: {why_not}. Make a key: {MAKE_KEY}"
        )
    address = http_url(reachable(settings.host), settings.port)
    if running is None:
        note(f"No server runs from {settings.data_dir}; the link opens its page once one does.")
    elif port is None:
        address = running.address
    typer.echo(link(address, new_link(settings)))


def no_page(settings: Settings) -> str | None:
    """Return why a server with these settings has no page, or none where it has one."""
    if access_policy(settings).cookies:
        return None
    if not settings.on_loopback:
        return f"it listens on {settings.host}, where others can reach it"
    return f"it runs in the environment {settings.environment!r}"


def link(address: str, code: str) -> str:
    """Return the URL that lets its owner in, once."""
    return f"{address}/open?code={code}"


def new_link(settings: Settings) -> str:
    """Return a new one-time code for ``/open``; the store keeps its hash for a day."""
    code = secrets.token_urlsafe(32)
    expires = system_now() + LINK_SECONDS * 1000
    with_store(settings, lambda store: store.add_secret("link", digest(code), expires_ms=expires))
    return code


def _tell_once(key: str, record: KeyRecord, *, as_json: bool) -> None:
    typer.echo(json.dumps({"key": key, **_facts(record)}) if as_json else key)


def _no_such(key_id: str) -> typer.Exit:
    note(f"There is no valid key {key_id}; turnwire keys list shows them.", "")
    return typer.Exit(1)


def _cell(record: KeyRecord, name: str) -> str:
    value = _facts(record)[name]
    text = "" if value is None else str(value)
    return text[:10] if name.endswith("_at") else text


def _facts(record: KeyRecord) -> dict[str, str | int | None]:
    return {
        "id": record.key_id,
        "name": record.name,
        "environment": record.environment,
        "scopes": " ".join(record.scopes),
        "per_minute": record.per_minute,
        "created_at": iso(record.created_ms),
        "last_used_at": _iso(record.last_used_ms),
        "revoked_at": _iso(record.revoked_ms),
        "previous_secret_until": _iso(record.previous_until_ms),
    }


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)
