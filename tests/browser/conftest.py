"""Chromium, for the tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import pytest

#: Names that must not resolve: no request leaves loopback.
RESOLVER = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def lack(what: str) -> NoReturn:
    """Skip a test because something is missing; in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}, which is missing", pytrace=False)
    pytest.skip(f"needs {what}: the page is not tested in a browser")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found or lack("Chromium (the package chromium of Debian)")


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Any]:
    """Yield a browser."""
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        lack("playwright")
    async with async_playwright() as playwright:
        # Chromium's own sandbox cannot be used by root.
        arguments = [f"--host-resolver-rules={RESOLVER}"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield launched
        await launched.close()
