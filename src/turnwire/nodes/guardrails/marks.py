"""YAML that remembers its lines, so that a mistake can be pointed at."""

from collections.abc import Sequence
from typing import Final

import yaml

# The loader in C, which takes a tenth of the time, is not in every build of PyYAML.
_LOADER: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Malformed(ValueError):
    """The text is not usable YAML; ``line`` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


class Marked:
    """A YAML document: its value, and the line of each part of it."""

    def __init__(self, text: str) -> None:
        loader = _LOADER(text)
        try:
            self._root = loader.get_single_node()
            _refuse_twins(self._root)
            self.value: object = _value(loader, self._root)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise Malformed(mark.line + 1 if mark else 1, error.problem or "not YAML") from None
        except yaml.YAMLError as error:
            raise Malformed(1, str(error).splitlines()[0]) from None
        finally:
            loader.dispose()

    def line(self, path: Sequence[int | str]) -> int:
        """Return the line of the part at ``path``, or of the nearest part around it."""
        node, line = self._root, 1
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line


def _value(loader: yaml.SafeLoader, root: yaml.Node | None) -> object:
    if root is None:
        return None
    return loader.construct_document(root)


def _child(node: yaml.Node | None, step: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child.start_mark.line + 1, child
    return None


def _refuse_twins(root: yaml.Node | None) -> None:
    waiting = [] if root is None else [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_twin_keys(node)
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _refuse_twin_keys(node: yaml.MappingNode) -> None:
    names: set[str] = set()
    for key, _ in node.value:
        if key.value in names:
            problem = f"'{key.value}' is given twice; keep one"
            raise Malformed(key.start_mark.line + 1, problem)
        names.add(str(key.value))
