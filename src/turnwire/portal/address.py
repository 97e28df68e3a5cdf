"""Where a portal is, and by which key it knows the server."""

from dataclasses import dataclass, field
from typing import Final

DEMO_SERVICE_KEY: Final = "demo-service-key"
"""The demo portal's, unless it is given another; no secret."""


@dataclass(frozen=True, slots=True)
class PortalAddress:
    """A members' portal, the demo one or the operator's own."""

    url: str
    """Without a slash at its end."""
    service_key: str = field(repr=False)
    """What service calls send as ``Authorization: Bearer``."""
