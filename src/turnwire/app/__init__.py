"""The composition root: the only package that knows every concrete class."""

from turnwire.app.composition import create, key_store
from turnwire.app.policies import access_policy
from turnwire.app.portals import has_demo_portal, portal_beside
from turnwire.app.process import alone_in
from turnwire.app.served import INDEX, Served, corpora, load_served, models, screen_of
from turnwire.app.sign_in import outbox_of, sign_in_trouble

__all__ = [
    "INDEX",
    "Served",
    "access_policy",
    "alone_in",
    "corpora",
    "create",
    "has_demo_portal",
    "key_store",
    "load_served",
    "models",
    "outbox_of",
    "portal_beside",
    "screen_of",
    "sign_in_trouble",
]
