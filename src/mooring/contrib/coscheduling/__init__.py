"""Coscheduling: pods of a group start together or not at all."""

from mooring.contrib.coscheduling.plugin import Coscheduling

__all__ = ["Coscheduling"]
