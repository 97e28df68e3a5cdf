import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGenerationChunk

from turnwire.graph.heard import Heard, are_sound

Report = tuple[int, int]


def _usage(report: Report) -> AIMessageChunk:
    tokens_in, tokens_out = report
    return AIMessageChunk(
        content="",
        usage_metadata={
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    )


@pytest.mark.parametrize(
    ("reports", "total"),
    [
        ([(9, 4)], (9, 4)),
        ([(9, 4), (9, 4)], (9, 4)),
        ([(9, 1), (9, 2), (9, 3), (9, 3)], (9, 3)),
        ([(9, 3), (9, 1)], (9, 3)),
        ([(9, 1), (0, 2), (0, 3)], (9, 6)),
        ([(0, 0), (9, 4)], (9, 4)),
        ([], (0, 0)),
    ],
    ids=["once", "twice", "growing", "shrinking", "added", "late", "never"],
)
def test_usage_is_counted_once_however_often_it_is_told(reports: list[Report], total: Report):
    heard = Heard()
    for each in reports:
        heard.add(_usage(each))
    assert (heard.tokens_in, heard.tokens_out) == total


def _ended(**said: object) -> Heard:
    heard = Heard()
    message = AIMessageChunk(content="One", response_metadata={"model_provider": "openai"})
    heard.add(ChatGenerationChunk(message=message, generation_info=said or None))
    return heard


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({}, "cut"),
        ({"finish_reason": None}, "cut"),
        ({"finish_reason": "stop"}, None),
        ({"stop_reason": "end_turn"}, None),
        ({"finish_reason": "MAX_TOKENS"}, None),
        ({"status": "completed"}, None),
        ({"status": "incomplete"}, None),
        ({"status": "in_progress"}, "cut"),
        ({"finish_reason": "content_filter"}, "filtered"),
        ({"finish_reason": "SAFETY"}, "filtered"),
        ({"finish_reason": "error"}, "failed"),
    ],
)
def test_an_answer_is_whole_only_if_its_provider_says_so(
    said: dict[str, object], fault: str | None
):
    assert _ended(**said).fault == fault


def test_a_model_that_never_says_how_it_ends_is_believed():
    heard = Heard()
    assert heard.add(AIMessageChunk(content="One")) == "One"
    assert heard.fault is None


def _piece(args: str | None, name: str | None = None, index: int | None = 0) -> ToolCallChunk:
    return ToolCallChunk(name=name, args=args, id=None, index=index)


@pytest.mark.parametrize(
    ("pieces", "sound"),
    [
        ([_piece('{"amount"', "pay"), _piece(": 100}")], True),
        ([_piece('{"amount"', "pay"), _piece(": 100")], False),
        ([_piece(None, "list")], True),
        ([_piece("[1]", "pay")], False),
        ([_piece("{}")], False),
        ([_piece('{"a":', "pay"), _piece("{}", "list", 1), _piece("1}")], True),
        ([_piece("{}", "pay", None), _piece("{}", "list", None)], True),
    ],
    ids=["whole", "cut", "no arguments", "no object", "no name", "woven", "without an index"],
)
def test_only_a_whole_tool_call_is_sound(pieces: list[ToolCallChunk], sound: bool):
    assert are_sound(pieces) is sound
