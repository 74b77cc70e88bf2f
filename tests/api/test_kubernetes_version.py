from __future__ import annotations

from mooring.api.kubernetes_version import KUBERNETES_VERSION, MAJOR, MINOR
from tools.go_modules import RELEASE
from tools.testenv.build import RELEASES


def test_the_release_is_the_newest_that_is_supported() -> None:
    assert next(iter(RELEASES)) == KUBERNETES_VERSION


def test_tables_are_generated_from_the_release() -> None:
    assert RELEASE == KUBERNETES_VERSION


def test_its_numbers() -> None:
    assert KUBERNETES_VERSION.startswith(f"{MAJOR}.{MINOR}.")
