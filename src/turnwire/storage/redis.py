"""What several workers share in Redis: which tokens were used, and how many messages were sent.

Each is one command or one script, so that nothing can happen in between, and every key that is
written has an expiry.
"""

from collections.abc import Awaitable
from typing import Any, Final, cast

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisError

from turnwire.errors import StorageUnavailable

SECONDS: Final = 0.5
"""How long Redis may take to answer."""
_PREFIX: Final = "turnwire:"
_MINUTE_MS: Final = 60_000

# A key of another type, such as a counter that somebody left here, holds nobody up.
_TAKE: Final = """
if redis.call('TYPE', KEYS[1]).ok ~= 'list' then redis.call('DEL', KEYS[1]) end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local most, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = tonumber(redis.call('LINDEX', KEYS[1], most - 1) or '')
if oldest and oldest <= now and oldest + window > now then
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], window) end
  return oldest + window - now
end
redis.call('LPUSH', KEYS[1], now)
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('PEXPIRE', KEYS[1], window)
return 0
"""
"""The newest first; by Redis's own clock, so that workers need not agree about the time."""


class SharedCounts:
    """Counts in Redis; nothing is connected before the first count.

    Args:
        url: ``redis://host:port/0``, ``rediss://…`` or ``unix://…``.
    """

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(
            url,
            socket_timeout=SECONDS,
            socket_connect_timeout=SECONDS,
            # Once more, on a new connection, where Redis was restarted; never after a silence.
            retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
            decode_responses=True,
        )
        self._take = self._redis.register_script(_TAKE)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def use(self, signature: str, *, seconds: int) -> bool:
        """Whether this is the first use of a token; it is remembered for so many seconds.

        Raises:
            StorageUnavailable: Redis does not answer.
        """
        key = f"{_PREFIX}ws_token:used:{signature}"
        return bool(await _told(self._redis.set(key, "1", nx=True, ex=max(1, seconds))))

    async def take(self, name: str, per_minute: int) -> int:
        """Count one and return 0, or count nothing and return how many ms it has to wait.

        Raises:
            StorageUnavailable: Redis does not answer.
        """
        key = f"{_PREFIX}rate:{name}"
        return int(await _told(self._take(keys=[key], args=[per_minute, _MINUTE_MS])))


async def _told(answer: Any) -> Any:  # noqa: ANN401 - what Redis answers
    try:
        return await cast("Awaitable[Any]", answer)
    except (RedisError, OSError, TimeoutError) as error:
        raise StorageUnavailable("Redis can't be reached.") from error
