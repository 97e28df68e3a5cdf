"""Where a server listens, as people open it and as a socket."""

import errno
import socket


def http_url(host: str, port: int) -> str:
    """Return the address to open; that of an IPv6 host stands in brackets."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def reachable(host: str) -> str:
    """Return what this machine calls a server that listens on ``host``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that has the address; port 0 takes a free one.

    Raises:
        OSError: it can't be listened on, or somebody does.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    except OverflowError:
        listening.close()
        raise OSError(errno.EINVAL, "a port is 0 to 65535") from None
    return listening
