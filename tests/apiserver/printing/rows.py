"""The rows that printers make of objects."""

from __future__ import annotations

import datetime
from typing import Any

from mooring.apiserver.printing.printer import Printer

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def row(printers: dict[str, Printer], kind: str, obj: dict[str, Any]) -> list[Any]:
    """Return the cells of an object that is an hour old."""
    metadata = {"name": "x", "creationTimestamp": "2026-01-01T11:00:00Z"}
    metadata |= obj.get("metadata", {})
    printer = printers[kind]
    cells = printer.cells({**obj, "metadata": metadata}, NOW)
    assert len(cells) >= len(printer.columns)
    return cells
