"""The secure port: /configz and the health checks."""

from __future__ import annotations

import pytest

from tests.reference.differences import idle, unexpected
from tests.reference.scenario import Observed


def test_configz_is_the_same(observed: tuple[Observed, Observed]) -> None:
    reference, ours = observed
    assert ours.configz == reference.configz


def test_the_readiness_checks_are_the_same(observed: tuple[Observed, Observed]) -> None:
    reference, ours = observed
    assert "[+]sched-handler-sync ok" in reference.readyz
    assert ours.readyz == reference.readyz


@pytest.mark.parametrize("page", ["livez", "healthz"])
def test_the_other_checks_are_the_same(observed: tuple[Observed, Observed], page: str) -> None:
    reference, ours = (getattr(side, page).splitlines() for side in observed)
    differing = {f"{page} {line}" for line in {*reference} ^ {*ours}}
    assert unexpected("check", differing) == []
    assert [found for found in idle("check", differing) if found.startswith(page)] == []
