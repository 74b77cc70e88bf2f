"""Asking webhooks that take part in scheduling."""

from mooring.extenders.extenders import (
    Extenders,
    ignored_resources,
    with_extenders,
    with_ignored_resources,
)
from mooring.extenders.http_extender import HttpExtender

__all__ = [
    "Extenders",
    "HttpExtender",
    "ignored_resources",
    "with_extenders",
    "with_ignored_resources",
]
