"""The Kubernetes release that Mooring follows."""

from __future__ import annotations

#: The release whose scheduling, API and version strings are reproduced.
KUBERNETES_VERSION = "1.37.1"
#: Its two numbers, 1 and 37.
MAJOR, MINOR = (int(number) for number in KUBERNETES_VERSION.split(".")[:2])
