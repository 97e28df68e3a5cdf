"""A tool that can't be used is found when a server starts, and the text says how to mend it."""

import re
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool

from tests.nodes.tools.acting import REASON, Desk, action, tool
from turnwire.errors import SetupError
from turnwire.nodes.tools.registry import Registry

DESK = Desk("x")


def test_models_are_told_of_every_tool_in_the_form_that_they_bind():
    [spec] = Registry([tool(DESK)]).specs()
    assert convert_to_openai_tool(spec) == spec
    assert spec["function"] == {
        "name": "ask_adviser",
        "description": "Ask an adviser to call back.",
        "parameters": REASON,
    }


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(SetupError, match="two tools are called 'ask_adviser'; rename"):
        Registry([tool(DESK), action(DESK)])


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"name": "Ask-Adviser"}, "name that models do not take; use lower case"),
        ({"name": "a" * 65}, "name that models do not take"),
        ({"name": ""}, "name that models do not take"),
        ({"description": " "}, "has no description; say what it does"),
        ({"risk": "delete"}, "has the risk 'delete'; use one of read, write, send"),
        ({"timeout": 0}, "timeout or expires_in of 0"),
        ({"parameters": {"type": "string"}}, "not a closed object; give"),
        ({"parameters": {"type": "object"}}, '"additionalProperties": false'),
        ({"parameters": {**REASON, "required": "reason"}}, "is no JSON Schema at"),
        (
            {"parameters": {**REASON, "properties": {"reason": {"$ref": "https://a.test/b"}}}},
            r"points with \$ref at something that it does not hold",
        ),
        ({"summary": {"en": "Ask about {reason}"}, "risk": "send"}, "without a summary in es"),
        ({"summary": {"en": "{no}", "es": "x"}, "risk": "send"}, "in 'en' with {no}, which is"),
        ({"summary": {"en": "{reason!r}", "es": "x"}, "risk": "send"}, "none of its parameters"),
        ({"summary": {"en": "{reason.x}", "es": "x"}, "risk": "send"}, "none of its parameters"),
        ({"summary": {"en": "{", "es": "x"}, "risk": "send"}, "none of its parameters"),
    ],
)
def test_a_tool_that_can_not_be_used_is_named_with_its_mend(about: dict[str, Any], told: str):
    with pytest.raises(SetupError, match=told) as raised:
        Registry([tool(DESK, **about)], locales=("en", "es"))
    assert re.search(rf"tool {about.get('name', 'ask_adviser')!r} ", str(raised.value))


def test_a_schema_may_point_into_itself():
    inner: dict[str, Any] = {
        "$defs": {"reason": {"type": "string"}},
        "type": "object",
        "additionalProperties": False,
        "properties": {"reason": {"$ref": "#/$defs/reason"}},
    }
    made = tool(DESK, parameters=inner)
    registry = Registry([made])
    assert registry.wrong(made, {"reason": "x"}) == []
    assert registry.wrong(made, {"reason": 1}) == ['arguments.reason: has to pass type: "string"']


def test_a_read_needs_no_summary():
    assert len(Registry([tool(DESK, summary={})], locales=("en", "es"))) == 1
