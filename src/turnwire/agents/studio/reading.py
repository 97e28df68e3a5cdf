"""Read a spec's YAML: small, plain, without anchors, and with a line for every fault.

    spec = read_spec(text, name="order-desk.yaml", known=Known(tools=…))

YAML 1.1 as PyYAML reads it, of which only maps, lists and plain values are taken: an alias could
stand for a billion values, a tag could make an object, and of two equal keys one would be lost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from yaml.constructor import ConstructorError, SafeConstructor

from turnwire.agents.studio.checking import Known, check
from turnwire.agents.studio.errors import Fault, SpecInvalid
from turnwire.agents.studio.spec import TYPES, Spec

LONGEST: Final = 65_536
"""Characters of a spec."""
_DEEPEST: Final = 12
_MOST: Final = 5_000
"""Values."""
_TAGS: Final = {
    f"tag:yaml.org,2002:{each}"
    for each in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")
}
_TYPE_NAMES: Final = tuple(
    str(each.model_json_schema()["properties"]["type"]["const"]) for each in TYPES
)

Path: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class _Read:
    """What a YAML text says, and on which line each part of it stands."""

    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    faults: list[Fault] = field(default_factory=list[Fault])

    def line(self, path: Path) -> int:
        """Return the line of a place, or of the nearest that is written around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_spec(text: str, *, name: str, known: Known) -> Spec:
    """Return the spec that ``text`` says.

    Args:
        text: YAML.
        name: the file's, for the faults.
        known: what there is for a spec to use.

    Raises:
        SpecInvalid: it can't be used; each fault has its line.
    """
    _look(text, name)
    read = _Read()
    root = _composed(text, name)
    read.value = _plain(root, (), read)
    if read.faults:
        raise SpecInvalid(name, read.faults)
    try:
        spec = Spec.model_validate(read.value)
    except ValidationError as error:
        raise SpecInvalid(name, [_fault(each, read) for each in error.errors()]) from None
    found = [
        Fault(line=read.line(path), path=_written(path), reason=reason)
        for path, reason in check(spec, known)
    ]
    if found:
        raise SpecInvalid(name, found)
    return spec


def _refused(name: str, line: int, reason: str) -> SpecInvalid:
    return SpecInvalid(name, [Fault(line=line, path="", reason=reason)])


def _look(text: str, name: str) -> None:
    """Raise :class:`SpecInvalid` for what may not even be composed."""
    if len(text) > LONGEST:
        raise _refused(name, 1, f"is longer than {LONGEST} characters")
    depth = 0
    for count, event in enumerate(_events(text, name)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refused(name, line, "anchors and aliases are not taken; write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise _refused(name, line, f"is nested more than {_DEEPEST} deep")
        if count > _MOST:
            raise _refused(name, line, f"has more than {_MOST} values")


def _events(text: str, name: str) -> Iterator[Any]:
    try:
        yield from cast("Iterator[Any]", yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _unreadable(error, name) from None


def _composed(text: str, name: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _unreadable(error, name) from None
    if not isinstance(root, yaml.MappingNode):
        raise _refused(name, 1, "has to be a map with slug, title, nodes and edges")
    return root


def _unreadable(error: yaml.YAMLError, name: str) -> SpecInvalid:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "is no YAML"
    return _refused(name, mark.line + 1 if mark else 1, f"is no YAML: {problem}")


def _plain(node: yaml.Node, path: Path, read: _Read) -> Any:  # noqa: ANN401 - any YAML
    line = node.start_mark.line + 1
    read.lines.setdefault(path, line)
    if node.tag not in _TAGS:
        reason = f"the tag {node.tag!r} is not taken; write a plain value"
        read.faults.append(Fault(line=line, path=_written(path), reason=reason))
        return None
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, read)
    if isinstance(node, yaml.SequenceNode):
        items = cast("Sequence[yaml.Node]", node.value)
        return [_plain(each, (*path, at), read) for at, each in enumerate(items)]
    return _scalar(node, path, read)


def _mapping(node: yaml.MappingNode, path: Path, read: _Read) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in cast("Sequence[tuple[yaml.Node, yaml.Node]]", node.value):
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            read.faults.append(Fault(line=line, path=_written(path), reason="has a key of no text"))
            continue
        if key in found:
            at = read.lines.get((*path, key), line)
            reason = f"the key is here twice; it stands on line {at} already"
            read.faults.append(Fault(line=line, path=_written((*path, key)), reason=reason))
            continue
        read.lines[(*path, key)] = line
        found[key] = _plain(value_node, (*path, key), read)
    return found


def _scalar(node: yaml.Node, path: Path, read: _Read) -> Any:  # noqa: ANN401 - a plain value
    if node.tag.endswith((":str", ":timestamp")):  # a date is a text like any other
        return str(node.value)
    try:
        return cast("Any", SafeConstructor()).construct_object(node)
    except (ConstructorError, ValueError, OverflowError):
        reason = "is no plain value; put it in quotation marks"
        fault = Fault(line=node.start_mark.line + 1, path=_written(path), reason=reason)
        read.faults.append(fault)
        return None


def _fault(error: ErrorDetails, read: _Read) -> Fault:
    path = _known_part(error["loc"], read)
    return Fault(line=read.line(path), path=_written(path), reason=_reason(error))


def _known_part(loc: Path, read: _Read) -> Path:
    """Return a place without pydantic's own steps: the type of a node is none of the file's."""
    path: Path = ()
    for step in loc:
        is_type = len(path) == 2 and path[0] == "nodes" and step in _TYPE_NAMES
        if not is_type:
            path = (*path, step)
    return path


def _reason(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "union_tag_invalid":
            return f"there is no node type {context['tag']!r}; there are {', '.join(_TYPE_NAMES)}"
        case "union_tag_not_found":
            return "a node needs its type"
        case "extra_forbidden":
            return "this is not known here"
        case "missing":
            return "this is required"
        case "string_pattern_mismatch":
            return f"has to be of the form {context.get('pattern')}"
        case _:
            return error["msg"]


def _written(path: Path) -> str:
    return ".".join(map(str, path))
