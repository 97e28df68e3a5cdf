"""The order desk: tables are read and orders released for people who may have that done."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

Do = Callable[..., httpx.Response]

ORDER = "4500001042"


@pytest.fixture
def do(service: httpx.Client) -> Do:
    def do(
        task: str,
        params: Mapping[str, Any],
        *,
        user: str | None = "maria.lopez",
        key: str | None = None,
    ) -> httpx.Response:
        headers = {} if user is None else {"X-On-Behalf-Of": user}
        headers |= {} if key is None else {"Idempotency-Key": key}
        return service.post(
            "/service/tasks", json={"task": task, "params": params}, headers=headers
        )

    return do


def _status(do: Do, order: str = ORDER) -> str:
    asked = {"table": "purchase_orders", "filter": {"order": order}, "fields": ["status"]}
    return do("read_table", asked).json()["rows"][0]["status"]


def test_a_table_is_read_by_filter_and_fields(do: Do):
    asked = {
        "table": "order_items",
        "filter": {"order": ORDER, "delivered": "false"},
        "fields": ["item", "material"],
        "limit": 1,
    }
    assert do("read_table", asked).json() == {
        "table": "order_items",
        "count": 2,
        "rows": [{"item": "10", "material": "Thermometer"}],
    }


@pytest.mark.parametrize(
    "params",
    [
        {"table": "members"},
        {"table": "suppliers", "fields": ["password"]},
        {"table": "suppliers", "filter": {"1=1": "x"}},
        {"table": "suppliers", "limit": 1000},
    ],
)
def test_what_is_no_table_or_field_is_refused(do: Do, params: Mapping[str, Any]):
    assert do("read_table", params).status_code == 422


def test_an_order_is_released_once(do: Do, service: httpx.Client):
    assert _status(do) == "blocked"
    first = do("release_purchase_order", {"order": ORDER}, key="k1")
    assert first.json()["status"] == "released"
    assert do("release_purchase_order", {"order": ORDER}, key="k1").json() == first.json()
    assert do("release_purchase_order", {"order": ORDER}, key="k2").status_code == 409
    assert _status(do) == "released"
    [ledger] = service.get("/demo/actions").json()
    assert (ledger["kind"], ledger["member_number"]) == ("order_release", "maria.lopez")


def test_a_release_that_is_refused_leaves_nothing_in_the_ledger(do: Do, service: httpx.Client):
    assert do("release_purchase_order", {"order": "4500001044"}).status_code == 409
    assert service.get("/demo/actions").json() == []


@pytest.mark.parametrize("user", [None, "", "somebody"])
def test_who_may_not_release_an_order_releases_none(do: Do, user: str | None):
    assert do("release_purchase_order", {"order": ORDER}, user=user).status_code == 403
    assert _status(do) == "blocked"


def test_without_the_services_key_nothing_is_done(calls: Callable[..., httpx.Client]):
    body = {"task": "read_table", "params": {"table": "suppliers"}}
    assert calls("no key").post("/service/tasks", json=body).status_code == 401
