"""The suite of pod groups is a copy, unchanged."""

from __future__ import annotations

import pytest

from tests.test_behaviour_copy import COPY as BEHAVIOUR
from tests.test_behaviour_copy import files

COPY = BEHAVIOUR.parent / "groups"
ORIGINAL = COPY.parents[2] / "shared" / "groups"


@pytest.mark.skipif(not ORIGINAL.is_dir(), reason="the original is not beside this checkout")
def test_the_suite_equals_the_original() -> None:
    originals, copies = files(ORIGINAL), files(COPY)
    assert copies.keys() == originals.keys()
    assert [name for name in copies if copies[name] != originals[name]] == []
