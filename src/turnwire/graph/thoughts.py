"""What a model thought before it answered, in the forms that providers use."""

from collections.abc import Iterator

from langchain_core.messages import BaseMessage


def thoughts(message: BaseMessage) -> Iterator[str]:
    """Yield the reasoning in a message or chunk; nothing where there is none."""
    said = message.additional_kwargs.get("reasoning_content")
    if isinstance(said, str) and said:
        yield said
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") in ("reasoning", "thinking"):
                text = block.get("reasoning") or block.get("thinking")
                if isinstance(text, str) and text:
                    yield text
