"""Printers: the table columns that kubectl shows, per kind."""

from __future__ import annotations

from mooring.apiserver.printing import (
    clusterwide,
    core,
    pod_groups,
    pods,
    server_objects,
    workloads,
)
from mooring.apiserver.printing.custom_columns import custom_printer
from mooring.apiserver.printing.printer import Printer, TableColumn, plain_printer
from mooring.apiserver.resource_table import Served

__all__ = ["Printer", "TableColumn", "printer_of"]

_PRINTERS: dict[str, Printer] = {
    **pods.PRINTERS,
    **pod_groups.PRINTERS,
    **workloads.PRINTERS,
    **core.PRINTERS,
    **clusterwide.PRINTERS,
    **server_objects.PRINTERS,
}
_PLAIN = plain_printer()


def printer_of(served: Served) -> Printer:
    """Return the printer of a resource."""
    if served.custom is not None:
        return custom_printer(served)
    return _PRINTERS.get(f"{served.group}/{served.kind}", _PLAIN)
