"""The columns that kubectl shows, per kind."""

from __future__ import annotations

from mooring.local.resources import Served
from mooring.local.tables import clusterwide, core, pods, workloads
from mooring.local.tables.custom import custom_printer
from mooring.local.tables.printer import Column, Printer, plain_printer

__all__ = ["Column", "Printer", "printer_of"]

_PRINTERS: dict[str, Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **core.PRINTERS,
    **clusterwide.PRINTERS,
}
_PLAIN = plain_printer()


def printer_of(served: Served) -> Printer:
    """Return the printer of a resource."""
    if served.custom is not None:
        return custom_printer(served)
    return _PRINTERS.get(f"{served.group}/{served.kind}", _PLAIN)
