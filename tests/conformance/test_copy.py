"""The recorded decisions are the recorder's, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.vector_files import differing_copies

VECTORS = Path(__file__).parent / "vectors" / "1.36.4"
ORIGINALS = VECTORS.parents[4] / "shared" / "vectors"


@pytest.mark.skipif(not ORIGINALS.is_dir(), reason="the originals are not beside this checkout")
def test_the_vectors_equal_the_originals() -> None:
    assert differing_copies(VECTORS, ORIGINALS) == []
