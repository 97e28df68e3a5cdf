"""A policy's YAML says the same, on the same lines, whichever of PyYAML's loaders reads it."""

import pytest
import yaml

from turnwire.nodes.guardrails import marks
from turnwire.nodes.guardrails.marks import Malformed, Marked

TEXT = """\
# A comment, and an anchor.
lists: {few: &few [uno, "dos, tres"]}
rules:
  - id: first
    phrases: [*few, «más»]
    within: 12
  - id: second
    text: >
      two
      lines
    on: yes
"""
PATHS = [("lists",), ("rules", 0, "phrases"), ("rules", 0, "within"), ("rules", 1), ("rules", 9)]


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(marks, "_LOADER", getattr(yaml, request.param))
    return request.param


@pytest.mark.usefixtures("loader")
def test_the_value_and_its_lines_are_those_of_the_text():
    document = Marked(TEXT)

    assert document.value == {
        "lists": {"few": ["uno", "dos, tres"]},
        "rules": [
            {"id": "first", "phrases": [["uno", "dos, tres"], "«más»"], "within": 12},
            {"id": "second", "text": "two lines\n", True: True},
        ],
    }
    assert [document.line(each) for each in PATHS] == [2, 5, 6, 7, 3]


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [2\n", 3), ("a: 1\na: 2\n", 2), ("a: 1\n\tb: 2\n", 2), ("a: *nothing\n", 1)],
    ids=["a bracket that stays open", "a key given twice", "a tab", "an anchor that is not there"],
)
def test_what_is_no_yaml_is_named_with_its_line(text: str, line: int):
    with pytest.raises(Malformed) as raised:
        Marked(text)

    assert raised.value.line == line
