"""Which members' portal is read and acted in."""

from collections.abc import Generator
from contextlib import contextmanager

from turnwire.portal.address import PortalAddress
from turnwire.portal.serving import serving
from turnwire.settings import Settings


@contextmanager
def portal_beside(settings: Settings) -> Generator[PortalAddress | None]:
    """Yield where the portal is: the settings' one, or a demo portal that runs during the block.

    None where neither is wanted: in production, and where other agents than those that ship are
    served.

    Raises:
        SetupError: the demo portal can't be started; the text says what to do.
    """
    key = settings.portal_service_key
    if settings.portal_url is not None:
        yield PortalAddress(settings.portal_url.rstrip("/"), key)
    elif settings.environment == "development" and settings.agent is None and settings.docs is None:
        with serving(settings.data_dir, service_key=key) as address:
            yield address
    else:
        yield None
