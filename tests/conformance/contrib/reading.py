"""The scenarios of the scheduler-plugins family and what was recorded of each."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conformance.vector_files import VectorFiles

VECTORS = Path(
    os.environ.get("MOORING_CONTRIB_VECTORS", Path(__file__).parents[1] / "contrib_vectors")
)

_FILES = VectorFiles(VECTORS)
scenarios = _FILES.scenarios
record = _FILES.record
