"""Settings that every test shares."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no failure, so no example has a deadline. CI replays the same examples on
# every run; a developer's run explores new ones.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
