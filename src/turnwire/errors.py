"""Every error turnwire raises on purpose; code, status and retryability stand in the class.

TurnwireError
    AdmissionRefused                the turn may not start: an HTTP status before the first byte
        InvalidRequest              400  invalid_request
        InvalidApiKey               401  invalid_api_key
        SessionRequired             401  session_required
        InvalidCode                 401  invalid_code
        InvalidToken                401  invalid_token
        InvalidMessage              400  invalid_message
        Forbidden                   403  forbidden
        ResumeUnavailable           403  resume_unavailable
        ConfirmationUnavailable     403  confirmation_unavailable
        NotFound                    404  not_found
        AgentNotFound               404  agent_not_found
        TurnInProgress              409  turn_in_progress
        AlreadyDecided              409  already_decided
        RequestTimeout              408  request_timeout
        RequestTooLarge             413  request_too_large
        HeadTooLarge                431  request_too_large
        RequestInvalid              422  validation_error
        AgentInvalid                422  agent_invalid
        RateLimited                 429  rate_limited
        QuotaExceeded               429  quota_exceeded
        Overloaded                  503  overloaded
        Draining                    503  draining
        SignInUnavailable           503  sign_in_unavailable
    TurnBroken                      the turn failed after it was admitted: `turn.failed`
        UpstreamTimeout             504  upstream_timeout
        UpstreamUnavailable         502  upstream_unavailable
        UpstreamRateLimited         503  upstream_rate_limited
        BudgetExceeded              429  budget_exceeded
        AgentError                  500  agent_error
        StreamInterrupted           502  stream_interrupted
        StorageUnavailable          503  storage_unavailable     (also a refusal)
    IllegalTransition               an event that the run's state does not allow: our own bug
    SetupError                      the operator's mistake; the message names what to do
"""

import traceback
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final


class TurnwireError(Exception):
    """Base of the tree above."""

    code: ClassVar[str] = "agent_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False


class AdmissionRefused(TurnwireError):
    """The turn may not start; nothing was stored and no model was called."""

    retry_after: float | None = None
    """Seconds after which the same request may pass, or none where waiting does not help."""

    details: Sequence[Mapping[str, str]] = ()
    """What is wrong with each part of the request: ``path`` and ``reason``."""


class InvalidRequest(AdmissionRefused):
    """The body is not JSON, or not UTF-8."""

    code, status = "invalid_request", 400


class InvalidApiKey(AdmissionRefused):
    """No key, an unknown or revoked one, or one of another environment."""

    code, status = "invalid_api_key", 401


class SessionRequired(AdmissionRefused):
    """A member's session is needed and there is none, or it is unknown, expired or another's."""

    code, status = "session_required", 401

    def __init__(self) -> None:
        super().__init__("This needs a member's session: mint one with POST /auth/session.")


class InvalidCode(AdmissionRefused):
    """One text for codes that are wrong, expired, used, guessed at too often, or nobody's."""

    code, status = "invalid_code", 401

    def __init__(self) -> None:
        super().__init__("This code is not valid; ask for a new one with POST /auth/login.")


class InvalidToken(AdmissionRefused):
    """One text for socket tokens that are malformed, expired, forged or used before."""

    code, status = "invalid_token", 401

    def __init__(self) -> None:
        super().__init__("This token is not valid; ask for a new one: GET /studio/ws-token.")


class InvalidMessage(AdmissionRefused):
    """What came over a socket is no message: not JSON, of no known type, or over its limit."""

    code, status = "invalid_message", 400

    def __init__(self, reason: str, *details: tuple[str, str]) -> None:
        super().__init__(reason)
        self.details = [{"path": path, "reason": why} for path, why in details]


class Forbidden(AdmissionRefused):
    """The caller is known and lacks the scope."""

    code, status = "forbidden", 403


class ResumeUnavailable(AdmissionRefused):
    """One text for unknown, somebody else's, expired and not waiting, so that nothing leaks."""

    code, status = "resume_unavailable", 403

    def __init__(self) -> None:
        super().__init__("There is nothing to resume here.")


class ConfirmationUnavailable(AdmissionRefused):
    """One text for unknown, somebody else's, answered and expired, so that nothing leaks."""

    code, status = "confirmation_unavailable", 403

    def __init__(self) -> None:
        super().__init__("There is nothing to confirm here.")


class NotFound(AdmissionRefused):
    """The thing does not exist for this caller."""

    code, status = "not_found", 404


class AgentNotFound(NotFound):
    """A socket asked for an agent that does not exist for this user."""

    code = "agent_not_found"

    def __init__(self) -> None:
        super().__init__("There is no such agent.")


class TurnInProgress(AdmissionRefused):
    """The conversation has a running turn and the caller asked to reject."""

    code, status, retryable = "turn_in_progress", 409, True

    def __init__(self) -> None:
        super().__init__("The conversation has a running turn; wait for its end or cancel it.")


class AlreadyDecided(AdmissionRefused):
    """The pause was answered before."""

    code, status = "already_decided", 409

    def __init__(self, decision: str) -> None:
        super().__init__(f"This was decided before: {decision}.")
        self.decision = decision


class RequestTimeout(AdmissionRefused):
    """The head or the body took too long to come."""

    code, status, retryable = "request_timeout", 408, True


class RequestTooLarge(AdmissionRefused):
    """The body or the message is over its limit."""

    code, status = "request_too_large", 413


class HeadTooLarge(AdmissionRefused):
    """The request's line and headers are over their limit."""

    code, status = "request_too_large", 431


class RequestInvalid(AdmissionRefused):
    """The JSON has the wrong shape; ``details`` lists path and reason."""

    code, status = "validation_error", 422

    def __init__(self, *details: tuple[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in details))
        self.details = [{"path": path, "reason": reason} for path, reason in details]


class AgentInvalid(AdmissionRefused):
    """An agent's spec can't be used; ``details`` lists file with line, and reason."""

    code, status = "agent_invalid", 422

    def __init__(self, *details: tuple[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in details))
        self.details = [{"path": path, "reason": reason} for path, reason in details]


class RateLimited(AdmissionRefused):
    """The key, or who asks for codes, has asked too often; `Retry-After` says when to go on."""

    code, status, retryable = "rate_limited", 429, True

    def __init__(
        self,
        reason: str = "This API key has made as many requests as it may in a minute.",
        *,
        retry_after: float,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class QuotaExceeded(AdmissionRefused):
    """The member or the key has used up what it may use in a window; `Retry-After` is its rest."""

    code, status, retryable = "quota_exceeded", 429, True

    def __init__(self, *, retry_after: float) -> None:
        super().__init__("The allowance is used up; see GET /usage for what is left, and when.")
        self.retry_after = retry_after


class Overloaded(AdmissionRefused):
    """The worker runs as many turns as it may."""

    code, status, retryable = "overloaded", 503, True
    retry_after = 2.0


class Draining(AdmissionRefused):
    """The worker is going away and starts nothing new."""

    code, status, retryable = "draining", 503, True
    retry_after = 5.0


class SignInUnavailable(AdmissionRefused):
    """Who knows the members does not answer; the same code may be sent again."""

    code, status, retryable = "sign_in_unavailable", 503, True
    retry_after = 2.0

    def __init__(self) -> None:
        super().__init__("Signing in is not possible right now; send the same code again shortly.")


class TurnBroken(TurnwireError):
    """The turn failed after it was admitted; ``turn.failed`` carries code and fixed text."""

    retryable = True
    public: ClassVar[str] = "The agent could not finish this turn."
    """What a client may read; detail goes to the log under the error id."""


class UpstreamTimeout(TurnBroken):
    """A model, a tool or a node took longer than it may."""

    code, status = "upstream_timeout", 504
    public = "The answer took too long. Please try again."


class UpstreamUnavailable(TurnBroken):
    """No provider in the chain could answer."""

    code, status = "upstream_unavailable", 502
    public = "The model is not available right now. Please try again."


class UpstreamRateLimited(TurnBroken):
    """The provider refused for want of quota."""

    code, status = "upstream_rate_limited", 503
    public = "The model is busy right now. Please try again in a moment."


class BudgetExceeded(TurnBroken):
    """The turn's model calls have taken what one turn may take."""

    code, status, retryable = "budget_exceeded", 429, False
    public = "This answer would take more than one turn may. Please ask for less."


class AgentError(TurnBroken):
    """A node raised."""

    code, status, retryable = "agent_error", 500, False


class StreamInterrupted(TurnBroken):
    """The run died without saying how it ended: a crash, a kill, a deploy."""

    code, status = "stream_interrupted", 502
    public = "The answer was interrupted. Please try again."


class StorageUnavailable(TurnBroken, AdmissionRefused):
    """The store cannot be read or written."""

    code, status = "storage_unavailable", 503
    public = "The conversation could not be stored. Please try again."
    retry_after = 2.0


class IllegalTransition(TurnwireError):
    """The agent said something that the run's state does not allow."""


class SetupError(TurnwireError):
    """A setting, file or graph is not usable; the message says where and how to mend it."""


TURN_FAILURES: Final[Mapping[str, type[TurnBroken]]] = {
    each.code: each
    for each in (
        UpstreamTimeout,
        UpstreamUnavailable,
        UpstreamRateLimited,
        BudgetExceeded,
        AgentError,
        StreamInterrupted,
        StorageUnavailable,
    )
}
"""Every code that ``turn.failed`` may carry."""


def where(error: BaseException) -> list[str]:
    """Return where the error was raised, the innermost frame last; no values, no messages."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    return [f"{each.filename.rpartition('/')[2]}:{each.lineno} {each.name}" for each in frames[-8:]]
