"""SySched: place pods beside pods that need the same system calls."""

from mooring.contrib.sysched.plugin import SySched

__all__ = ["SySched"]
