"""The flags of the journal, for commands that have a scheduler in their process."""

from __future__ import annotations

import argparse

from mooring.api.quantity import Quantity
from mooring.errors import ObjectError


def add_journal_flags(parser: argparse._ActionsContainer) -> None:
    """Add --journal and --journal-max-bytes."""
    parser.add_argument(
        "--journal",
        metavar="DIR",
        help="write every change and decision of the scheduler to a folder, for `mooring replay`; "
        "it is created if it does not exist",
    )
    parser.add_argument(
        "--journal-max-bytes",
        type=_max_bytes,
        default="1Gi",
        metavar="SIZE",
        help="the most bytes of the journal, whose oldest part is removed (default: %(default)s)",
    )


def _max_bytes(text: str) -> int:
    from mooring.journal.journal_limits import check_max_bytes

    try:
        given = Quantity(text)
    except ObjectError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if mistake := check_max_bytes(given):
        raise argparse.ArgumentTypeError(mistake.partition(" ")[2])
    return given.value()
