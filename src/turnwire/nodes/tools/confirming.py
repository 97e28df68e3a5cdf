"""How a node puts an action to the member."""

from pydantic import JsonValue

from turnwire.graph.pause import ask
from turnwire.nodes.tools.tool import Proposal


def ask_member(proposal: Proposal) -> JsonValue:
    """Pause until the member has decided, and return their answer for ``Actions.decided``.

    Everything of the node that stands before this call happens again after the answer, so the node
    asks first and acts afterwards. Each action is a task of its own (``Send``), so that several
    are answered in any order.
    """
    asked: dict[str, JsonValue] = {
        "tool_call_id": proposal.call.tool_call_id,
        "name": proposal.call.name,
        "summary": proposal.summary,
        "arguments_preview": dict(proposal.arguments_preview),
        "risk": proposal.risk,
        "arguments_hash": proposal.arguments_hash,
    }
    return ask("confirmation", asked, expires_in=proposal.expires_in)
