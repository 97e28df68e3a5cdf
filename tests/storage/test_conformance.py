from pathlib import Path

import pytest

from tests.storage.stores import KINDS, Kind, opened
from turnwire.storage import (
    conformance_actions,
    conformance_lists,
    conformance_members,
    conformance_sign_ins,
    conformance_specs,
)
from turnwire.storage.conformance import CHECKS, Check

ALL: tuple[Check, ...] = (
    *CHECKS,
    *conformance_actions.CHECKS,
    *conformance_lists.CHECKS,
    *conformance_members.CHECKS,
    *conformance_sign_ins.CHECKS,
    *conformance_specs.CHECKS,
)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", ALL, ids=lambda each: each.__name__)
async def test_every_store_conforms(check: Check, kind: Kind, tmp_path: Path):
    async with opened(kind, tmp_path) as store:
        await check(store)
