"""The real programs that tests run against, and what happens to a test that lacks one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tools.testenv import build

# A skip that the summary counts begins with this.
MISSING = "needs "
REQUIRED = "MOORING_TESTENV_REQUIRED"


def locate(variable: str) -> Path:
    """Return the program that a variable of tools/testenv names; skip the test without it.

    The variable itself wins over what `make testenv` built. Where MOORING_TESTENV_REQUIRED is set
    (as in CI), a missing program is a failure.
    """
    if chosen := os.environ.get(variable):
        if not os.access(chosen, os.X_OK):
            pytest.fail(f"{variable}={chosen} is no program")
        return Path(chosen)
    if found := build.built():
        return found[variable]
    lack(build.PARTS[variable])


def lack(what: str) -> NoReturn:
    """Skip the running test for want of something, or fail it where everything must be there."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{MISSING}{what}, which is missing", pytrace=False)
    pytest.skip(f"{MISSING}{what}")


def summary(reasons: list[str]) -> str | None:
    """Tell in one line what was skipped for want of a real part."""
    lacked = [reason.removeprefix("Skipped: ") for reason in reasons]
    lacked = [reason.removeprefix(MISSING) for reason in lacked if reason.startswith(MISSING)]
    if not lacked:
        return None
    parts = ", ".join(sorted(set(lacked)))
    tests = "1 test" if len(lacked) == 1 else f"{len(lacked)} tests"
    return f"skipped {tests} for want of {parts}: install Go and run `make testenv`"
