"""``turnwire keys`` and ``turnwire link``: who is let in."""

import json
import secrets
from typing import Annotated, Final

import typer
from rich.table import Table

from turnwire.admission.api_keys import digest, new_key
from turnwire.admission.principal import SCOPES
from turnwire.app import access_policy
from turnwire.cli.address import http_url
from turnwire.cli.output import MAKE_KEY, STDOUT, AsJson, DataDir, literal, note
from turnwire.cli.store import with_store
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.settings import Settings, read
from turnwire.storage.base import KeyRecord
from turnwire.wires.base import iso

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
    with_store(settings, lambda store: store.add_key(record))
    if as_json:
        typer.echo(json.dumps({"key": key, **_shown(record)}))
    else:
        typer.echo(key)


@app.command("list")
def list_keys(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets.

    Example: turnwire keys list --json
    """
    records = with_store(read(data_dir=data_dir), lambda store: store.keys())
    if as_json:
        typer.echo(json.dumps([_shown(each) for each in records]))
        return
    table = Table("id", "name", "environment", "scopes", "created", "revoked")
    for each in records:
        row = _shown(each)
        table.add_row(*(literal(value or "") for value in row.values()))
    STDOUT.print(table)


@app.command()
def revoke(key_id: str, data_dir: DataDir = None) -> None:
    """Revoke a key by its id; a running server refuses it within two seconds.

    Example: turnwire keys revoke 5f0c1d2e3a4b5c6d
    """
    now = system_now()
    revoked = with_store(read(data_dir=data_dir), lambda store: store.revoke_key(key_id, now=now))
    if not revoked:
        note(f"There is no valid key {key_id}; turnwire keys list shows them.", "")
        raise typer.Exit(1)


def link_command(
    data_dir: DataDir = None,
    port: Annotated[int | None, typer.Option(help="The running server's port. [8000]")] = None,
) -> None:
    """Print a new one-time link to the page of a server that runs on this machine.

    Example: turnwire link
    """
    settings = read(data_dir=data_dir, port=port)
    if not access_policy(settings).cookies:
        raise SetupError(
            "only a server on loopback in the environment 'development' has a page and takes "
            f"links; make a key instead: {MAKE_KEY}"
        )
    typer.echo(link(http_url(settings.host, settings.port), new_link(settings)))


def link(address: str, code: str) -> str:
    """Return the URL that lets its owner in, once."""
    return f"{address}/open?code={code}"


def new_link(settings: Settings) -> str:
    """Return a new one-time code for ``/open``; the store keeps its hash for a day."""
    code = secrets.token_urlsafe(32)
    expires = system_now() + LINK_SECONDS * 1000
    with_store(settings, lambda store: store.add_secret("link", digest(code), expires_ms=expires))
    return code


def _shown(record: KeyRecord) -> dict[str, str | None]:
    return {
        "id": record.key_id,
        "name": record.name,
        "environment": record.environment,
        "scopes": " ".join(record.scopes),
        "created_at": iso(record.created_ms),
        "revoked_at": None if record.revoked_ms is None else iso(record.revoked_ms),
    }
