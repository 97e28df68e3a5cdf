"""What a conversation keeps of its turns, where that is not everything."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

Remember: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Returns, of a state at the end of a turn, the channels that are to be kept otherwise."""


async def keep(saver: BaseCheckpointSaver[Any], thread_id: str, remember: Remember) -> None:
    """Keep of a thread its latest state only, as ``remember`` changes it.

    What was stored goes first: a process that dies in between has forgotten the conversation, and
    has told nobody's words.
    """
    config: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    stored = await saver.aget_tuple(config)
    if stored is None:
        return
    checkpoint = stored.checkpoint
    values = checkpoint["channel_values"]
    kept = {**values, **await remember(values)}
    await saver.adelete_thread(thread_id)
    await saver.aput(
        config,
        {**checkpoint, "channel_values": kept},
        stored.metadata,
        checkpoint["channel_versions"],
    )
