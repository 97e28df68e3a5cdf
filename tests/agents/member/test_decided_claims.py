"""What was decided about a member's claim is told from the file; what will be, is not foretold."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from tests.agents.member.stage import Stage, tools_of
from turnwire.agents.member.choosing import the_one

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("message", "locale"),
    [
        ("Why was my claim declined?", "en"),
        ("Why was my claim rejected?", "en"),
        ("Was my claim approved?", "en"),
        ("Has my claim been refused?", "en"),
        ("Why did you reject my claim?", "en"),
        ("¿Por qué me han denegado la reclamación?", "es"),
        ("¿Está aprobada mi reclamación?", "es"),
        ("¿Por qué han rechazado mi reclamación?", "es"),
    ],
)
async def test_what_was_decided_is_read_from_the_members_file(
    stage: Callable[..., Stage], message: str, locale: str
):
    member = stage()
    played = await member.say(message, locale=locale)
    assert [name for name, status, _ in tools_of(played) if status == "ok"]
    assert "CLM-2026-" in played.text


async def test_one_claim_is_told_with_what_is_noted_why(stage: Callable[..., Stage]):
    played = await stage().say("Why was my claim CLM-2026-1090 declined?")
    assert tools_of(played) == [("get_claim_status", "ok", None)]
    assert "CLM-2026-1090" in played.text


@pytest.mark.parametrize(
    ("question", "locale"),
    [
        ("Why was my claim declined?", "en"),
        ("Why did you reject my claim?", "en"),
        ("Was my claim refused?", "en"),
        ("¿Por qué rechazaron mi reclamación?", "es"),
        ("¿Está denegada mi reclamación?", "es"),
    ],
)
def test_of_several_decided_claims_the_only_one_that_was_declined_is_meant(
    question: str, locale: str
):
    paid: JsonValue = {"reference": "CLM-1", "treatment": "Scan", "status": "paid"}
    declined: JsonValue = {"reference": "CLM-2", "treatment": "Filling", "status": "declined"}
    assert the_one("get_claims", [paid, declined], question, locale) == declined
    assert the_one("get_claims", [declined, declined], question, locale) is None
    assert the_one("get_claims", [paid, declined], "Why was my claim decided so?", "en") is None


@pytest.mark.parametrize(
    ("message", "locale"),
    [
        ("Approve my claim", "en"),
        ("Will my claim be approved?", "en"),
        ("Was my MRI authorized?", "en"),
        ("Why was his claim denied?", "en"),
        ("¿Será aprobada mi reclamación?", "es"),
        ("Aprueba mi reclamación", "es"),
    ],
)
async def test_what_nobody_has_decided_here_is_still_refused(
    stage: Callable[..., Stage], message: str, locale: str
):
    played = await stage().say(message, locale=locale)
    assert (tools_of(played), played.ending.finish_reason) == ([], "refused")
