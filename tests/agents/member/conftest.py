from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.member.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., Stage]:
    """Makes a member with a portal of their own."""

    def make(**parts: Any) -> Stage:  # noqa: ANN401
        return Stage(tmp_path, **parts)

    return make
