"""Extenders: webhooks that take part in scheduling."""

from mooring.extenders.extenders import Extenders, longest_wait

__all__ = ["Extenders", "longest_wait"]
