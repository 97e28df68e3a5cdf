"""The small policies that the parts use, read off the settings."""

from turnwire.admission.api_keys import KeyPolicy
from turnwire.admission.quota import Allowance, QuotaPolicy
from turnwire.engine.runner import Limits
from turnwire.engine.supervisor import SupervisorPolicy
from turnwire.server.access import AccessPolicy
from turnwire.settings import Settings


def access_policy(settings: Settings) -> AccessPolicy:
    """Return who is let in."""
    environment = "live" if settings.environment == "production" else "test"
    return AccessPolicy(
        keys=KeyPolicy(
            prefix=settings.key_prefix,
            environment=environment,
            per_minute=settings.key_requests_per_minute,
        ),
        # Behind a proxy, everybody comes from loopback: not in production.
        cookies=settings.on_loopback and settings.environment == "development",
        user_header=settings.user_header,
    )


def quota_policy(settings: Settings) -> QuotaPolicy:
    """Return what members and keys may use."""
    return QuotaPolicy(
        member=Allowance(
            messages=settings.member_messages,
            tokens=settings.member_tokens,
            seconds=settings.member_window_seconds,
        ),
        key=Allowance(
            messages=settings.key_messages,
            tokens=settings.key_tokens,
            seconds=settings.key_window_seconds,
        ),
        held_tokens=settings.turn_tokens or settings.held_tokens,
    )


def supervisor_policy(settings: Settings) -> SupervisorPolicy:
    """Return how runs are bounded and ended."""
    return SupervisorPolicy(
        limits=Limits(turn_seconds=settings.turn_seconds, node_seconds=settings.node_seconds),
        max_turns=settings.max_turns,
        disconnect_grace_seconds=settings.disconnect_grace_seconds,
        drain_seconds=settings.drain_seconds,
    )
