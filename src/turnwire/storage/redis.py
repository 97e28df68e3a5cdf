"""What workers share in Redis: which socket tokens were used, and how many messages were sent.

Each is one atomic step of the server's, and no key is ever without an expiry.
"""

from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from turnwire.errors import StorageUnavailable

_SECONDS: Final = 0.5
"""How long an answer may take: somebody waits for it."""
_MINUTE_MS: Final = 60_000

# By Redis' own clock, newest first. A key of another type, such as a counter that somebody left
# here, holds nobody up; and as the expiry is set with each step, none can be lost.
_TAKE: Final = """
local key, most, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
if redis.call('TYPE', key).ok ~= 'list' then redis.call('DEL', key) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local earlier = tonumber(redis.call('LINDEX', key, most - 1))
local wait = 0
if earlier and earlier <= now then wait = math.max(0, earlier + window - now) end
if wait == 0 then
  redis.call('LPUSH', key, string.format('%d', now))
  redis.call('LTRIM', key, 0, most - 1)
end
redis.call('PEXPIRE', key, window)
return wait
"""


class RedisShared:
    """Tokens' uses and users' rates in one Redis.

    A :class:`turnwire.admission.ws_tokens.Uses` and a :class:`turnwire.admission.rates.Rates`
    each by its method; both raise :class:`StorageUnavailable` where Redis does not answer.
    """

    def __init__(self, url: str) -> None:
        """Take the server's address, ``redis://host:port/db``; nothing is asked of it yet."""
        self._redis: Any = Redis.from_url(
            url,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=Retry(NoBackoff(), 1),  # once anew, where an idle connection was closed
        )
        self._take: Any = self._redis.register_script(_TAKE)

    async def use(self, signature: str, *, expires: int, now: int) -> bool:
        """Whether this is a token's first use; see ``Uses.take``."""
        key, left = f"turnwire:ws_token:used:{signature}", max(1, expires - now // 1000 + 1)
        try:
            return bool(await self._redis.set(key, "1", nx=True, ex=left))
        except (RedisError, OSError) as error:
            raise StorageUnavailable(type(error).__name__) from None

    async def take(self, name: str, per_minute: int, *, now: int) -> int:
        """See ``Rates.take``; ``now`` is Redis' own."""
        try:
            waits = await self._take(keys=[f"turnwire:rate:{name}"], args=[per_minute, _MINUTE_MS])
        except (RedisError, OSError) as error:
            raise StorageUnavailable(type(error).__name__) from None
        return cast("int", waits)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
