"""``turnwire``: serve, chat, ingest, agents, keys, link, audit, doctor, policy, demo services."""

import sys

import typer

from turnwire.cli import (
    agents,
    audit,
    chat,
    demo_portal,
    demo_provider,
    doctor,
    ingest,
    keys,
    policy,
    serve,
)
from turnwire.cli.output import STDERR
from turnwire.errors import SetupError, TurnwireError

app = typer.Typer(
    name="turnwire",
    help="Serve a LangGraph agent's turns.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("chat")(chat.chat)
app.command("audit")(audit.audit)
app.command("doctor")(doctor.doctor)
app.command("demo-portal")(demo_portal.demo_portal)
app.command("demo-provider")(demo_provider.demo_provider)
app.command("ingest")(ingest.ingest)
app.command("link")(keys.link_command)
app.add_typer(agents.app, name="agents")
app.add_typer(keys.app, name="keys")
app.add_typer(policy.app, name="policy")


def main() -> None:
    """Run the command line; exit with 0, 1 (failed) or 2 (wrong usage)."""
    try:
        app()
    except SetupError as error:
        STDERR.print(f"turnwire: {error}", markup=False, highlight=False)
        sys.exit(2)
    except TurnwireError as error:
        STDERR.print(f"turnwire: {error}", markup=False, highlight=False)
        sys.exit(1)
