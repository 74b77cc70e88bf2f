"""Times in the form that Kubernetes objects carry."""

from __future__ import annotations

import time


def timestamp(seconds: float) -> str:
    """Format a time as metav1.Time does.

    >>> timestamp(1700000000.25)
    '2023-11-14T22:13:20Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
