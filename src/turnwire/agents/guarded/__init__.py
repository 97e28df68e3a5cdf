"""The guarded agent: examined, grounded, cited, and reviewed by a person where it has to be.

build(GuardedParts(policy=policy, model=model, model_name="quoting", retriever=retriever))
"""

from turnwire.agents.guarded.graph import build, manifest
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.state import GuardedState

__all__ = ["GuardedParts", "GuardedState", "build", "manifest"]
