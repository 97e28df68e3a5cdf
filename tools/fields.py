"""Types as Markdown: a table of a model's fields, with what their docstrings say."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias, cast

from pydantic import BaseModel

from turnwire import events
from turnwire.models import roles
from turnwire.wires import answer_frames, execution

Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema."""

Named: TypeAlias = dict[str, type]
"""Types that a page has spoken of and has to describe."""


def described(model: type[BaseModel], named: Named) -> Iterator[str]:
    """Yield a model's fields; remember in ``named`` what else they speak of."""
    schema = model.model_json_schema()
    yield from table(schema, field_docs(model), named)


def table(schema: Schema, docs: Mapping[str, str], named: Named) -> Iterator[str]:
    """Yield a table of an object's properties; ``docs`` says what each is for."""
    fields = {name: each for name, each in schema["properties"].items() if name != "type"}
    if not fields:
        return
    columns = ["field", "type", "default", *(["meaning"] if docs else [])]
    yield from ("", row(columns), row(["---"] * len(columns)))
    for name, field in fields.items():
        required = name in schema.get("required", ())
        default = "required" if required else f"`{default_of(field)}`"
        cells = (f"`{name}`", type_of(field, named), default, docs.get(name, ""))
        yield row(cells[: len(columns)])


def named_types(named: Named) -> Iterator[str]:
    """Yield the values that fields are made of, and those that these are made of."""
    if named:
        yield from ("", "## Values")
    done: set[str] = set()
    while waiting := sorted(set(named) - done):
        for name in waiting:
            done.add(name)
            yield from ("", f"### `{name}`", "", f"`{name}`: {summary(named[name])}")
            yield from described(named[name], named)


def type_of(schema: Schema, named: Named) -> str:
    """Return a JSON Schema in few words."""
    if "$ref" in schema:
        return _reference(schema["$ref"].rpartition("/")[2], named)
    if "anyOf" in schema:
        return " or ".join(type_of(each, named) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(f'`"{each}"`' for each in schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            return f"list of {type_of(schema.get('items', {}), named)}"
        case "string" if schema.get("format") == "path":
            return "path"
        case "object" if "properties" in schema:
            return "object with " + " and ".join(f"`{each}`" for each in schema["properties"])
        case str(kind):
            return kind + _bounds(schema)
        case _:
            return "any JSON"


def _reference(name: str, named: Named) -> str:
    places = (events, execution, answer_frames, roles)
    found = next((each for place in places if (each := getattr(place, name, None))), None)
    if not isinstance(found, type):
        return "any JSON"
    named.setdefault(name, found)
    return f"[{name}](#{name.lower()})"


def _bounds(schema: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [f" {sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return ",".join(said)


def default_of(field: Schema) -> str:
    """Return the default of a property that may be left out."""
    match field.get("default"):
        case None:
            return "{}" if field.get("type") == "object" else "null"
        case True | False as flag:
            return str(flag).lower()
        case str(text):
            return f'"{text}"'
        case dict():
            return "{…}"
        case value:
            return str(value)


def field_docs(model: type) -> dict[str, str]:
    """Return what the strings under a class's fields say, on one line each."""
    body = cast("ast.ClassDef", ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]).body
    docs: dict[str, str] = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    docs[field.target.id] = sentence(text)
                case _:
                    pass
    return docs


def summary(of: type) -> str:
    """Return the first paragraph of a docstring, in Markdown and on one line."""
    return sentence((of.__doc__ or "").strip().partition("\n\n")[0])


def sentence(text: str) -> str:
    """Return a docstring's text on one line, in Markdown."""
    plain = " ".join(text.split()).replace("``", "`")
    for role in (":data:", ":class:", ":func:", ":mod:"):
        plain = plain.replace(role, "")
    return plain


def row(cells: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"
