"""Logs in kube-scheduler's two formats, on stdlib logging.

A constant message and key-value pairs:

    log.info("Pod bound", extra=kv(pod=pod, node="a"))
    vlog(log, 4, "About to try and schedule pod", pod=pod)

klog's verbosity V(n) is the stdlib level INFO - n, so `--v=4` is one threshold and a disabled
message costs one cached lookup. If even the pairs are slow to compute, check `verbose(log, 5)`
first.

# klog: textlogger, internal/serialize; component-base: logs/json
"""

from __future__ import annotations

import fnmatch
import logging
import os
import sys
import time
from collections.abc import Mapping
from logging import INFO, Logger, LogRecord
from typing import Any, TextIO

import msgspec

from mooring.api.go_format import go_quote
from mooring.errors import ConfigError

#: --logging-format
TEXT = "text"
JSON = "json"

_VMODULE_SYNTAX = "syntax error: expect comma-separated list of filename=N"
_VMODULE_NEGATIVE = "negative value for vmodule level"


class ObjectRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reference to an object in a log line."""

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def kv(**pairs: Any) -> dict[str, Any]:
    """Return the key-value pairs of a log line, for `extra=`.

    A Kubernetes object is written as its namespace and name.
    """
    return {"kv": pairs}


def verbose(log: Logger, v: int) -> bool:
    """Return whether messages of klog verbosity `v` are written."""
    return log.isEnabledFor(INFO - v)


def vlog(log: Logger, v: int, message: str, /, **pairs: Any) -> None:
    """Write a message of klog verbosity `v`, if that is on."""
    if log.isEnabledFor(INFO - v):
        log.log(INFO - v, message, extra={"kv": pairs}, stacklevel=2)


def log_error(
    log: Logger, error: BaseException | str | None, message: str, /, **pairs: Any
) -> None:
    """Write an error, with its cause as the first pair, as klog does."""
    if error is not None:
        pairs = {"err": error, **pairs}
    log.error(message, extra={"kv": pairs}, stacklevel=2)


class KlogFormatter(logging.Formatter):
    """The text format of klog: `I1115 06:47:38.123456   12345 file.py:210] "message" key="value"`.

    A message with % arguments is not quoted, just like klog's Infof.
    """

    def format(self, record: LogRecord) -> str:
        """Return the line of a record; a traceback follows on separate lines."""
        text, pairs = record.getMessage(), _pairs(record)
        if not record.args or pairs or not text.isprintable():
            text = go_quote(text)
        at = time.localtime(record.created)
        micros = int(record.created % 1 * 1e6)
        parts = [
            f"{_severity(record.levelno)}{at.tm_mon:02}{at.tm_mday:02} "
            f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}.{micros:06} {record.process or 0:7} "
            f"{record.filename}:{record.lineno}] {text}"
        ]
        parts += [f" {key}{_text(value)}" for key, value in pairs.items()]
        if record.exc_info:
            parts.append("\n" + self.formatException(record.exc_info))
        return "".join(parts)


class JsonFormatter(logging.Formatter):
    """JSON lines: ts (milliseconds), caller, msg, v or err, and the pairs."""

    def format(self, record: LogRecord) -> str:
        """Return the line of a record."""
        pairs = dict(_pairs(record))
        line: dict[str, Any] = {"ts": round(record.created * 1000, 4)}
        if "logger" in pairs:
            line["logger"] = pairs.pop("logger")
        folder, file = os.path.split(record.pathname)
        line["caller"] = f"{os.path.basename(folder)}/{file}:{record.lineno}"
        line["msg"] = record.getMessage()
        if record.levelno < logging.ERROR:
            line["v"] = max(0, INFO - record.levelno)
        for key, value in pairs.items():
            line[key] = str(value) if isinstance(value, BaseException) else _plain(value)
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return _ENCODER.encode(line).decode()


class Verbosity:
    """The settings `--v` and `--vmodule`, applied to the loggers of this process."""

    def __init__(self, v: int = 0, vmodule: str = "") -> None:
        self.v = v
        self._modules = parse_vmodule(vmodule)

    def set(self, v: int) -> None:
        """Change `--v` while running."""
        self.v = v
        self.apply()

    def apply(self) -> None:
        """Set the thresholds; call it again after loading plugins, for loggers created since.

        A pattern of `--vmodule` is matched with the last part of a module's name, which is the
        name of its file, or with the full name if the pattern has a dot.
        """
        root = logging.getLogger()
        root.setLevel(_threshold(self.v))
        named: list[str] = []
        for name, logger in sorted(root.manager.loggerDict.items()):
            if not isinstance(logger, Logger):
                continue
            special = self._special(name)
            if special is not None:
                named.append(f"{name}.")
                logger.setLevel(_threshold(max(special, self.v)))
            elif name.startswith(tuple(named)):
                # The level of a package is not that of its modules.
                logger.setLevel(_threshold(self.v))
            elif name.startswith("mooring."):
                # Earlier settings may have named it.
                logger.setLevel(logging.NOTSET)

    def _special(self, name: str) -> int | None:
        file = name.rpartition(".")[2]
        for pattern, v in self._modules:
            if fnmatch.fnmatchcase(name if "." in pattern else file, pattern):
                return v
        return None


def parse_vmodule(text: str) -> list[tuple[str, int]]:
    """Parse `pattern=N,…`; raise ConfigError with klog's message if it is malformed.

    >>> parse_vmodule("queue*=5,cycle=4,")
    [('queue*', 5), ('cycle', 4)]
    """
    modules = []
    for item in filter(None, text.split(",")):
        pattern, _, level = item.partition("=")
        try:
            v = int(level)
        except ValueError:
            v = None
        if not pattern or v is None:
            raise ConfigError(_VMODULE_SYNTAX)
        if v < 0:
            raise ConfigError(_VMODULE_NEGATIVE)
        modules.append((pattern, v))
    return modules


def configure(
    format: str = TEXT, v: int = 0, vmodule: str = "", stream: TextIO | None = None
) -> Verbosity:
    """Send every log line of this process to a stream (stderr), replacing earlier handlers."""
    verbosity = Verbosity(v, vmodule)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if format == JSON else KlogFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    verbosity.apply()
    return verbosity


def _threshold(v: int) -> int:
    # To stdlib logging, level 0 means "use the parent's level".
    return max(1, INFO - v)


def _severity(level: int) -> str:
    if level < logging.WARNING:
        return "I"
    if level < logging.ERROR:
        return "W"
    return "E" if level < logging.CRITICAL else "F"


def _pairs(record: LogRecord) -> Mapping[str, Any]:
    pairs: Mapping[str, Any] = getattr(record, "kv", {})
    return pairs


def _plain(value: Any) -> Any:
    """Return a value as JSON shows it: objects as references, sets as in Go."""
    metadata = getattr(value, "metadata", None)
    if metadata is not None and hasattr(metadata, "name"):
        return ObjectRef(metadata.name, getattr(metadata, "namespace", ""))
    if isinstance(value, set | frozenset):
        return {str(item): {} for item in sorted(value, key=str)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _text(value: Any) -> str:
    value = _plain(value)
    if isinstance(value, ObjectRef | BaseException):
        value = str(value)
    if not isinstance(value, str):
        return "=" + _ENCODER.encode(value).decode()
    if "\n" not in value:
        return "=" + go_quote(value)
    lines = value.removesuffix("\n").split("\n")
    return "".join(("=<\n", *(f"\t{line}\n" for line in lines), " >"))


_ENCODER = msgspec.json.Encoder(enc_hook=str)
