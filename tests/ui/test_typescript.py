"""The client's types are those of the answer wire's schema, and the check notices a difference."""

from pathlib import Path

import pytest

from tools.typescript import main, type_of, types


def test_the_committed_types_are_up_to_date():
    assert main(["--check"]) == 0


def test_types_that_were_changed_or_are_missing_fail_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "events.ts"
    assert main(["--check"], path=path) == 1
    assert main([], path=path) == 0
    assert main(["--check"], path=path) == 0
    path.write_text(path.read_text("utf-8").replace("snippet: string", "snippet: number"), "utf-8")
    assert main(["--check"], path=path) == 1
    said = "events.ts is out of date; run: python -m tools.typescript\n"
    assert capsys.readouterr().err == said * 2


def test_an_unknown_option_is_a_wrong_usage(capsys: pytest.CaptureFixture[str]):
    assert main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_field_that_may_be_null_may_be_left_out():
    wire = {
        "oneOf": [{"properties": {"event": {"const": "a.b"}, "data": {"$ref": "#/$defs/A"}}}],
        "$defs": {
            "JsonValue": {},
            "A": {
                "description": "One.\n\nOf ``two``.",
                "properties": {
                    "must": {"type": "string", "default": ""},
                    "may": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "any": {"$ref": "#/$defs/JsonValue"},
                    "one_of": {"enum": ["a | null", "b"]},
                },
            },
        },
    }
    assert (
        "/**\n * One.\n *\n * Of `two`.\n */\nexport interface A {\n  must: string;\n"
        '  may?: number;\n  any?: JsonValue;\n  one_of: "a | null" | "b";\n}\n'
    ) in types(wire)
    assert '  "a.b": A;\n' in types(wire)


def test_what_has_no_type_yet_is_named():
    with pytest.raises(ValueError, match=r'no type for \{"type": "set"\}'):
        type_of({"type": "set"})
