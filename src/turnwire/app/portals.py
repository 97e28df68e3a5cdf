"""Which members' portal is read and acted in."""

from collections.abc import Generator
from contextlib import contextmanager

from turnwire.errors import SetupError
from turnwire.portal.address import DEMO_SERVICE_KEY, PortalAddress
from turnwire.portal.serving import serving
from turnwire.settings import Settings


def has_demo_portal(settings: Settings) -> bool:
    """Whether a demo portal runs beside the server."""
    is_shipped = settings.agent is None and settings.docs is None
    return settings.portal_url is None and settings.environment == "development" and is_shipped


@contextmanager
def portal_beside(settings: Settings) -> Generator[PortalAddress | None]:
    """Yield where the portal is: the settings' one, or a demo portal that runs during the block.

    None where neither is wanted: in production, and where other agents than those that ship are
    served.

    Raises:
        SetupError: the portal's key is missing, or the demo portal can't be started.
    """
    key = settings.portal_service_key
    if settings.portal_url is not None:
        if key is None:
            raise SetupError("portal_url needs the service's key: set portal_service_key")
        yield PortalAddress(settings.portal_url.rstrip("/"), key)
    elif has_demo_portal(settings):
        with serving(settings.data_dir, service_key=key or DEMO_SERVICE_KEY) as address:
            yield address
    else:
        yield None
