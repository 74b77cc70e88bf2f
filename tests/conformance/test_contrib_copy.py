"""The recorded decisions of the scheduler-plugins family are the recorder's, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.vector_files import differing_copies

VECTORS = Path(__file__).parent / "contrib_vectors"
ORIGINALS = VECTORS.parents[3] / "shared" / "contrib-vectors"


@pytest.mark.skipif(not ORIGINALS.is_dir(), reason="the originals are not beside this checkout")
def test_the_vectors_equal_the_originals() -> None:
    assert differing_copies(VECTORS, ORIGINALS) == []
