"""The real programs that tests run against; a test without one is skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tools.testenv import build

# The prefix of the skip reasons that the summary counts.
MISSING = "needs "
REQUIRED = "MOORING_TESTENV_REQUIRED"


def locate(variable: str, release: str = build.REFERENCE) -> Path:
    """Return the program that a variable of tools/testenv names; skip the test without it.

    The variable takes precedence over what `make testenv` built, except for a test that asks for
    another release than the reference. If MOORING_TESTENV_REQUIRED is set (as in CI), a missing
    program is a failure.
    """
    if chosen := os.environ.get(variable):
        if not os.access(chosen, os.X_OK):
            pytest.fail(f"{variable}={chosen} is no program")
        if release == build.REFERENCE or variable == "ETCD":
            return Path(chosen)
    if found := build.built(release):
        return found[variable]
    program = build.PARTS[variable]
    lack(program if release == build.REFERENCE else f"{program} {release}")


def lack(what: str) -> NoReturn:
    """Skip the running test because something is missing, or fail it if that is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{MISSING}{what}, which is missing", pytrace=False)
    pytest.skip(f"{MISSING}{what}")


def summary(reasons: list[str]) -> str | None:
    """Return a line about the tests that were skipped because a real part is missing."""
    lacked = [reason.removeprefix("Skipped: ") for reason in reasons]
    lacked = [reason.removeprefix(MISSING) for reason in lacked if reason.startswith(MISSING)]
    if not lacked:
        return None
    parts = ", ".join(sorted(set(lacked)))
    tests = "1 test" if len(lacked) == 1 else f"{len(lacked)} tests"
    return f"skipped {tests} for want of {parts}: install Go and run `make testenv`"
