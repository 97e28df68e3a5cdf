"""``turnwire keys`` and ``turnwire link``: who is let in."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar

import typer
from rich.table import Table

from turnwire.admission.api_keys import digest, new_key
from turnwire.admission.principal import SCOPES
from turnwire.app import access_policy, key_store
from turnwire.cli.output import STDERR, STDOUT, AsJson, DataDir
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.settings import Settings, read
from turnwire.storage.base import KeyRecord, KeyStore
from turnwire.wires.base import iso

T = TypeVar("T")

LINK_SECONDS: Final = 24 * 3600

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[list[str], typer.Option(help=f"Repeatable: {', '.join(SCOPES)}.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once.

    Example: turnwire keys create --name my-app --scope chat --scope review
    """
    unknown = [each for each in scope if each not in SCOPES]
    if unknown:
        raise SetupError(f"there is no scope {unknown[0]!r}; choose of: {', '.join(SCOPES)}")
    settings = read(data_dir=data_dir)
    policy = access_policy(settings).keys
    key, record = new_key(policy, name=name, scopes=scope, now=system_now())
    with_keys(settings, lambda store: store.add_key(record))
    if as_json:
        typer.echo(json.dumps({"key": key, **_shown(record)}))
    else:
        typer.echo(key)


@app.command("list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets.

    Example: turnwire keys list --json
    """
    records = with_keys(read(data_dir=data_dir), lambda store: store.keys())
    if as_json:
        typer.echo(json.dumps([_shown(each) for each in records]))
        return
    table = Table("id", "name", "environment", "scopes", "created", "revoked")
    for each in records:
        row = _shown(each)
        table.add_row(*(str(row[column] or "") for column in row))
    STDOUT.print(table)


@app.command()
def revoke(key_id: str, data_dir: DataDir = None) -> None:
    """Revoke a key by its id; a running server refuses it within two seconds.

    Example: turnwire keys revoke 5f0c1d2e3a4b5c6d
    """
    now = system_now()
    revoked = with_keys(read(data_dir=data_dir), lambda store: store.revoke_key(key_id, now=now))
    if not revoked:
        STDERR.print(f"There is no valid key {key_id}.")
        raise typer.Exit(1)


def link_command(
    data_dir: DataDir = None,
    port: Annotated[int | None, typer.Option(help="The running server's port. [8000]")] = None,
) -> None:
    """Print a new one-time link to the page of a server that runs on this machine.

    Example: turnwire link
    """
    settings = read(data_dir=data_dir, port=port)
    code = asyncio.run(new_link(settings))
    typer.echo(link(f"http://{settings.host}:{settings.port}", code))


def link(address: str, code: str) -> str:
    """Return the URL that lets its owner in, once."""
    return f"{address}/open?code={code}"


async def new_link(settings: Settings) -> str:
    """Return a new one-time code for ``/open``; the store keeps its hash for a day."""
    code = secrets.token_urlsafe(32)
    expires = system_now() + LINK_SECONDS * 1000
    await _with_keys(
        settings, lambda keys: keys.add_secret("link", digest(code), expires_ms=expires)
    )
    return code


def with_keys(settings: Settings, use: Callable[[KeyStore], Awaitable[T]]) -> T:
    """Return what ``use`` makes of the data directory's key store."""
    return asyncio.run(_with_keys(settings, use))


async def _with_keys(settings: Settings, use: Callable[[KeyStore], Awaitable[T]]) -> T:
    store = key_store(settings)
    await store.open()
    try:
        return await use(store)
    finally:
        await store.close()


def _shown(record: KeyRecord) -> dict[str, str | None]:
    return {
        "id": record.key_id,
        "name": record.name,
        "environment": record.environment,
        "scopes": " ".join(record.scopes),
        "created_at": iso(record.created_ms),
        "revoked_at": None if record.revoked_ms is None else iso(record.revoked_ms),
    }
