"""The member agent: answers from documents and the member's own file, and acts on their word.

build(MemberParts(policy=member_policy(), model=model, model_name="quoting", actions=…, tools=…))
"""

from turnwire.agents.member.graph import build, manifest
from turnwire.agents.member.parts import GatherLimits, MemberParts, member_policy
from turnwire.agents.member.state import MemberState

__all__ = ["GatherLimits", "MemberParts", "MemberState", "build", "manifest", "member_policy"]
