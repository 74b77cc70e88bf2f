"""Results recorded from Kubernetes' own libraries; see data/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/reference.jsonl").read_text().splitlines()
]


def recorded(kind: str) -> list[tuple[dict[str, Any], Any]]:
    """Return the recorded (input, result) pairs of one kind."""
    rows = [(question, answer) for question, answer in _ROWS if question["Kind"] == kind]
    assert rows, f"nothing recorded for {kind}"
    return rows
