"""The columns that kubectl shows, per kind."""

from __future__ import annotations

from mooring.local.resources import Served
from mooring.local.tables.custom import custom_printer
from mooring.local.tables.printer import Column, Printer, plain_printer
from mooring.local.tables.pods import PRINTERS as _PODS

__all__ = ["Column", "Printer", "printer_of"]

_PRINTERS: dict[str, Printer] = {**_PODS}
_PLAIN = plain_printer()


def printer_of(served: Served) -> Printer:
    """Return the printer of a resource."""
    if served.definition is not None:
        return custom_printer(served)
    return _PRINTERS.get(f"{served.group}/{served.kind}", _PLAIN)
