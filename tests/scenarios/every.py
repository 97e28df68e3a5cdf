"""The scenarios that stores and wires are measured by."""

from typing import Final

from tests.scenarios import members, turns

SCENARIOS: Final = (*turns.SCENARIOS, *members.SCENARIOS)
