"""The order desk: tasks that the staff's agents have done, each for somebody who may have it done.

The service says on whose behalf it asks; what that person may do is decided here.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final, assert_never

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from turnwire.clock import Now
from turnwire.errors import RequestInvalid, TurnwireError
from turnwire.portal.bodies import ReadTable, ReadTask, ReleaseOrder, ReleaseTask
from turnwire.portal.records import seed
from turnwire.portal.store import Action, Json, PortalStore

ON_BEHALF_OF: Final = "X-On-Behalf-Of"
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


class NotAllowed(TurnwireError):
    """Whoever is named may not have this done."""

    code, status = "forbidden", 403

    def __init__(self) -> None:
        super().__init__(f"The person in {ON_BEHALF_OF} may not have this done.")


class Desk:
    """Does tasks out of a store."""

    def __init__(self, store: PortalStore, *, now: Now) -> None:
        self._store = store
        self._now = now
        desk = seed().desk
        self._readers, self._buyers = desk.readers, desk.buyers

    def do(self, request: Request, task: ReadTask | ReleaseTask, *, key: str | None) -> Response:
        """Do a task for the person whom the request names.

        Raises:
            NotAllowed: nobody is named, or somebody who may not have it done.
            RequestInvalid: a field is none of the table's.
            NotBlocked: the order does not wait for its release.
        """
        user = request.headers.get(ON_BEHALF_OF, "")
        match task:
            case ReadTask(params=params):
                _require(user, self._readers)
                return JSONResponse(self._read(params))
            case ReleaseTask(params=params):
                _require(user, self._buyers)
                return self._release(user, params, key)
            case _:
                assert_never(task)

    def _read(self, asked: ReadTable) -> Json:
        rows = self._store.table(asked.table)
        known = list(rows[0]) if rows else []
        for name in (*asked.filter, *asked.fields):
            if name not in known:
                raise RequestInvalid((asked.table, f"has no field {name!r}; it has {known}"))
        found = [each for each in rows if _fits(each, asked.filter)]
        wanted = asked.fields or known
        shown: Sequence[JsonValue] = [
            {name: each[name] for name in wanted} for each in found[: asked.limit]
        ]
        return {"table": asked.table, "count": len(found), "rows": list(shown)}

    def _release(self, user: str, asked: ReleaseOrder, key: str | None) -> Response:
        at = written(self._now())
        answer: Json = {
            "release_id": f"RL-{secrets.token_hex(4).upper()}",
            "order": asked.order,
            "status": "released",
            "released_by": user,
            "created_at": at,
        }
        action = Action(
            kind="order_release",
            member_number=user,
            asked=asked.model_dump(mode="json", exclude_none=True),
            answer=answer,
            created_at=at,
        )
        told, is_earlier = self._store.act(action, key=key)
        return JSONResponse(told, headers={"Idempotent-Replay": "true"} if is_earlier else None)


def idempotency_key(request: Request) -> str | None:
    """Return the request's key, or none where it has none.

    Raises:
        RequestInvalid: it is not of the form of one.
    """
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise RequestInvalid(("Idempotency-Key", "1 to 255 visible ASCII characters"))
    return key


def written(at: int) -> str:
    """Return a time (ms) as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


def _require(user: str, listed: Sequence[str]) -> None:
    if not user or not any(fnmatchcase(user, each) for each in listed):
        raise NotAllowed


def _fits(row: Mapping[str, JsonValue], wanted: Mapping[str, str]) -> bool:
    return all(_text(row[name]) == value for name, value in wanted.items())


def _text(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
