"""The scheduler under test, as a program."""

from __future__ import annotations

import sys
from pathlib import Path

#: The entry point of an image.
SCHEDULER_PROGRAM = Path(sys.executable).with_name("mooring-kube-scheduler")
