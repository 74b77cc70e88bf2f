"""Defaults of an extender's flags."""

from __future__ import annotations

#: The name of a self-signed certificate's files.
PAIR_NAME = "mooring-extender"
PORT = 8443
