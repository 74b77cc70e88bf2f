"""The settings of `logging`, which commands that run in the process of a test change."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unchanged_logging() -> Iterator[None]:
    """Restore handlers and levels at the end of a block.

    A handler that stays writes to the captured output of an earlier test, which is closed.
    """
    root = logging.getLogger()
    owners = (root, logging.getLogger("mooring"))
    handlers = [owner.handlers[:] for owner in owners]
    levels = {logger: logger.level for logger in _loggers()}
    try:
        yield
    finally:
        for owner, before in zip(owners, handlers, strict=True):
            owner.handlers[:] = before
        for logger in _loggers():
            level = levels.get(logger, logging.NOTSET)
            if logger.level != level:
                logger.setLevel(level)


def _loggers() -> Iterator[logging.Logger]:
    """Yield all loggers that are known by now."""
    root = logging.getLogger()
    yield root
    for logger in list(root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield logger
