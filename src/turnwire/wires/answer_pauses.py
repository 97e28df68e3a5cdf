"""What a member is told of the questions that wait, outside a stream."""

from typing import Literal, assert_never

from turnwire.events import Pause
from turnwire.wires.answer_frames import (
    AuthRequired,
    ConfirmationRequired,
    Frame,
    OpenQuestion,
    confirmation,
    question,
    sign_in,
)


class WaitingConfirmation(ConfirmationRequired):
    """The action of ``action.confirmation_required``: ``POST /chat/confirm`` answers it."""

    kind: Literal["confirmation"] = "confirmation"
    turn_id: str


class WaitingSignIn(AuthRequired):
    """The card of ``auth.required``: ``POST /chat/resume`` goes on after the sign-in."""

    kind: Literal["sign_in"] = "sign_in"
    turn_id: str


class WaitingQuestion(OpenQuestion):
    """A question of a graph's own: ``POST /chat/resume`` answers it by ``pause_id``."""

    turn_id: str


class WaitingReview(Frame):
    """A draft waits for a reviewer; what is in it is not for members."""

    kind: Literal["review"] = "review"
    turn_id: str


Waiting = WaitingConfirmation | WaitingSignIn | WaitingQuestion | WaitingReview


class OpenPauses(Frame):
    """What a conversation waits for, in the order in which it was asked."""

    pauses: tuple[Waiting, ...]


def waiting(pause: Pause, *, turn_id: str) -> Waiting:
    """Return what the owner of a conversation is told of a pause that is open."""
    match pause.kind:
        case "confirmation":
            return WaitingConfirmation(turn_id=turn_id, **confirmation(pause).model_dump())
        case "sign_in":
            return WaitingSignIn(turn_id=turn_id, **sign_in(pause).model_dump())
        case "input" | "approval":
            return WaitingQuestion(turn_id=turn_id, **question(pause).model_dump())
        case "review":
            return WaitingReview(turn_id=turn_id)
        case _:
            assert_never(pause.kind)
