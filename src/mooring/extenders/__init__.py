"""Extenders: webhooks that take part in scheduling."""

from mooring.extenders.extenders import (
    Extenders,
    ignored_resources,
    longest_wait,
    with_extenders,
    with_ignored_resources,
)

__all__ = [
    "Extenders",
    "ignored_resources",
    "longest_wait",
    "with_extenders",
    "with_ignored_resources",
]
