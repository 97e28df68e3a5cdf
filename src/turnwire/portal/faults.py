"""What the portal does wrong, as its switches say."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from turnwire.portal.bodies import Failure, Switches

Endpoint = Callable[[Request], Awaitable[Response]]


def error(status: int, code: str, message: str) -> JSONResponse:
    """Return an answer that says what is wrong."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


class Faults:
    """Plays the switches around each call."""

    def __init__(self) -> None:
        self.turn(Switches())

    @property
    def switches(self) -> Switches:
        """How they stand; of a failure, how often it is still to come."""
        return self._switches.model_copy(update={"fail": dict(self._failures)})

    def turn(self, switches: Switches) -> None:
        """Put all of them anew."""
        self._switches = switches
        self._failures = dict(switches.fail)

    async def around(self, name: str, endpoint: Endpoint, request: Request) -> Response:
        """Answer ``request`` by ``endpoint``, or not, or not in time.

        Waiting comes before everything else, and a caller who leaves meanwhile stops nothing.
        """
        switches = self._switches
        await asyncio.sleep(switches.delay_ms / 1000)
        failure = self._next(name)
        if failure is not None and not failure.after_effect:
            return _failed(failure)
        response = await endpoint(request)
        if switches.answer == "twice":
            response = await endpoint(request)
        if failure is not None:
            return _failed(failure)
        if switches.answer == "never":
            await _gone(request)
        return response

    def _next(self, name: str) -> Failure | None:
        failure = self._failures.get(name)
        if failure is None or failure.times is None:
            return failure
        if failure.times > 1:
            self._failures[name] = failure.model_copy(update={"times": failure.times - 1})
        else:
            del self._failures[name]
        return failure


def _failed(failure: Failure) -> Response:
    return error(failure.status, "demo_failure", "The demo portal fails because a switch says so.")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
