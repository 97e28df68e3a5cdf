"""``turnwire agents``: agents that are written as specs."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from turnwire.agents.studio.checking import APPROVE, Known
from turnwire.agents.studio.desk import desk_tools
from turnwire.agents.studio.errors import SpecInvalid
from turnwire.agents.studio.factory import shipped
from turnwire.agents.studio.primitives.architect import SAVE
from turnwire.agents.studio.reading import read_spec
from turnwire.agents.studio.spec import Spec
from turnwire.cli.output import STDOUT, AsJson, DataDir, literal, note
from turnwire.cli.store import with_store
from turnwire.corpora import for_members
from turnwire.corpora import shipped as corpora
from turnwire.errors import SetupError
from turnwire.settings import read
from turnwire.storage.specs import SpecRecord

app = typer.Typer(help="Agents from specs.", no_args_is_help=True, rich_markup_mode=None)

Named = Annotated[str, typer.Argument(help="A spec's file, or the slug of an agent.")]


def known() -> Known:
    """Return what a spec may name, where the demo portal's tools are served."""
    tools = desk_tools(httpx.AsyncClient(), service_key="")
    by_name = {each.name: each.risk != "read" for each in tools}
    return Known(tools={**by_name, SAVE: True}, corpora=(*corpora(), *for_members(), "docs"))


@app.command("list")
def list_agents(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the agents that ship and those that staff have put, with their versions.

    Example: turnwire agents list
    """
    rows: list[dict[str, Any]] = [
        {"slug": slug, "version": "shipped", "phase": "published", "author": "turnwire"}
        for slug in shipped()
    ]
    for each in _records(data_dir):
        version = str(each.version)
        about = {"slug": each.slug, "version": version, "phase": each.phase}
        rows.append({**about, "author": each.author})
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        line = f"{row['slug']}  {row['version']}  {row['phase']}  {row['author']}"
        STDOUT.print(literal(line))


@app.command("validate")
def validate(
    file: Annotated[Path, typer.Argument(help="A spec's file.")], as_json: AsJson = False
) -> None:
    """Say whether a spec can be used; exits with 1 where it can't, naming file, line and reason.

    Example: turnwire agents validate order-desk.yaml
    """
    try:
        spec = read_spec(_file(file), name=str(file), known=known())
    except SpecInvalid as error:
        faults = [
            {"line": each.line, "path": each.path, "reason": each.reason} for each in error.faults
        ]
        if as_json:
            typer.echo(json.dumps({"file": str(file), "ok": False, "faults": faults}))
        else:
            note(str(error), "red")
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps({"file": str(file), "ok": True, "slug": spec.slug}))
    else:
        STDOUT.print(literal(f"{file} is fine: {spec.slug}, {len(spec.nodes)} nodes."))


@app.command("show")
def show(name: Named, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print a spec, as it was written or, with --json, as it was read.

    Example: turnwire agents show order-desk
    """
    text = _text(name, data_dir)
    spec = read_spec(text, name=name, known=known())
    shown = spec.model_dump_json(by_alias=True) if as_json else text.rstrip()
    typer.echo(shown)


@app.command("draw")
def draw(name: Named, data_dir: DataDir = None) -> None:
    """Print a spec's graph as a Mermaid flowchart.

    Example: turnwire agents draw order-desk
    """
    for line in mermaid(read_spec(_text(name, data_dir), name=name, known=known())):
        typer.echo(line)


def mermaid(spec: Spec) -> Iterable[str]:
    """Yield the lines of the flowchart; a gate stands before what has to be approved."""
    gates = spec.interrupt_before
    yield "flowchart TD"
    yield "  start([start])"
    yield "  end_([end])"
    for node in spec.nodes:
        yield f'  {node.id}["{node.id}<br/>{node.type}"]'
    for each, gate in gates.items():
        yield f'  {APPROVE}{each}{{{{"approve {each}"}}}}'
        yield f"  {APPROVE}{each} -->|approved| {each}"
        yield f"  {APPROVE}{each} -->|rejected| {_at(gate.on_reject, gates)}"
    for edge in spec.edges:
        yield f"  {edge.source} --> {_at(edge.target, gates)}"
    for source, routes in spec.routes.items():
        for route, target in routes.items():
            yield f"  {source} -->|{route}| {_at(target, gates)}"


def _at(target: str, gates: Mapping[str, object]) -> str:
    if target == "end":
        return "end_"
    return f"{APPROVE}{target}" if target in gates else target


def _records(data_dir: Path | None) -> list[SpecRecord]:
    settings = read(data_dir=data_dir)
    if not (settings.data_dir / "turnwire.db").exists():
        return []
    return with_store(settings, lambda store: store.specs())


def _text(name: str, data_dir: Path | None) -> str:
    """Return the text of a file, or of the version of an agent that new turns get."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return _file(path)
    published = [e for e in _records(data_dir) if e.slug == name and e.phase == "published"]
    if published:
        return published[-1].text
    text = shipped().get(name)
    if text is None:
        raise SetupError(f"there is no agent {name!r}; see `turnwire agents list`")
    return text


def _file(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} can't be read: {type(error).__name__}") from None
