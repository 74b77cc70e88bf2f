"""The scheduler under test, as a program."""

from __future__ import annotations

import sys
from pathlib import Path

#: What an image has as its entry point.
SCHEDULER_PROGRAM = Path(sys.executable).with_name("mooring-kube-scheduler")
