"""The exceptions Mooring raises.

    MooringError
    ├── ConfigError   a configuration file or flag cannot be used
    ├── ObjectError   a Kubernetes object, quantity, selector or manifest is malformed
    ├── ApiError      the API server responded with a failure
    │   └── NoAnswerError   the API server did not respond
    │       └── LeaseExpiredError   a write was not sent: another process may hold the lease
    ├── ExtenderError an extender failed, or sent an unexpected response
    ├── JournalError  a journal cannot be written or read
    └── PluginError   a plugin broke its contract

A refusal to place a pod is a value (a `Status`), never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: The most bytes of a text from outside that errors, conditions and the log keep.
MAX_TEXT = 2**16
_CUT = " ..."


def cut_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text, cut to `limit` bytes of UTF-8 if it is longer.

    >>> cut_text("unschedulable", 10)
    'unsche ...'
    """
    if len(text) * 4 <= limit:
        return text
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return text
    return data[: limit - len(_CUT)].decode(errors="ignore") + _CUT


#: The parts of a URL: scheme, user, host, path, query. The scheme may be missing.
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)?(?P<user>[^/?#\s]*@)?(?P<rest>[^?#\s]*)"
    r"(?:\?(?P<query>[^#\s]*))?"
)
#: Stands for a value of a query.
_HIDDEN = "…"


def safe_url(url: str) -> str:
    """Return a URL without user, password and fragment, and without the values of its query.

    >>> safe_url("https://me:s3cret@example.com/load?key=s3cret&all")
    'https://example.com/load?key=…&…'
    """
    found = _URL.match(url)
    if found is None or not ("@" in url or "?" in url or "#" in url):
        return url
    shown = f"{found['scheme'] or ''}{found['rest']}"
    if found["query"] is None:
        return shown
    return f"{shown}?{'&'.join(map(_hidden_pair, found['query'].split('&')))}"


def _hidden_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={_HIDDEN}" if equals else _HIDDEN


#: Begins the line of an error's text that says what to do.
ADVICE = "advice: "


class MooringError(Exception):
    """The base class of every exception that Mooring raises on purpose."""


def _join(where: str, path: str | None, message: str) -> str:
    return ": ".join(part for part in (where, path, message) if part)


class ConfigError(MooringError):
    """A configuration that cannot be used, and the place of the error.

    `advice` is printed on a line of its own.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        advice: str = "",
    ) -> None:
        self.message = message
        self.path = path
        self.file = file
        self.line = line
        self.column = column
        self.advice = advice
        where = ":".join(str(part) for part in (file, line, column) if part is not None)
        text = _join(where, path, message)
        super().__init__(f"{text}\n{ADVICE}{advice}" if advice else text)


class ConfigErrors(ConfigError):
    """All errors of a configuration at once, one per line."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = tuple(errors)


class ObjectError(MooringError):
    """A malformed Kubernetes object, quantity, selector or manifest.

    `document` is the 1-based number of the YAML document in `file`; `path` is the field, such as
    `spec.containers[0].image`.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        file: str | None = None,
        document: int | None = None,
        line: int | None = None,
    ) -> None:
        self.message = message
        self.path = path
        self.file = file
        self.document = document
        self.line = line
        where = ":".join(str(part) for part in (file, line) if part is not None)
        if document is not None:
            where = f"{where}: document {document}" if where else f"document {document}"
        super().__init__(_join(where, path, message))

    def at(
        self,
        *,
        path: str | None = None,
        file: str | None = None,
        document: int | None = None,
        line: int | None = None,
    ) -> ObjectError:
        """Return the same error with the given parts of its location filled in."""
        return ObjectError(
            self.message,
            path=path if path is not None else self.path,
            file=file if file is not None else self.file,
            document=document if document is not None else self.document,
            line=line if line is not None else self.line,
        )


class ApiError(MooringError):
    """A failure response of the API server.

    `status` is the HTTP status code, `reason` the machine-readable reason of the `Status` object
    (`NotFound`, `Conflict`, …), `details` its raw details; `retry_after` is in seconds.
    """

    def __init__(
        self,
        status: int,
        message: str = "",
        *,
        reason: str = "",
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        message = cut_text(message)
        reason = cut_text(reason)
        self.status = status
        self.message = message
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after
        #: Whether the log has already said that the right to such a request is missing.
        self.repeated = False
        self.method = method
        self.url = url = safe_url(url) if url and "://" in url else url
        request = " ".join(part for part in (method, url) if part)
        answer = f"{status} {reason}".rstrip()
        super().__init__(": ".join(part for part in (request, answer, message) if part))

    @property
    def is_not_found(self) -> bool:
        """Return whether the object or the resource does not exist."""
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        """Return whether the object has changed since then, or its state forbids the request."""
        return self.status == 409 and self.reason != "AlreadyExists"

    @property
    def is_already_exists(self) -> bool:
        """Return whether an object with that name already exists."""
        return self.status == 409 and self.reason == "AlreadyExists"

    @property
    def is_gone(self) -> bool:
        """Return whether the requested resource version or continue token is too old."""
        return self.status == 410

    @property
    def is_unauthorized(self) -> bool:
        """Return whether the server could not authenticate the client (401)."""
        return self.status == 401

    @property
    def is_forbidden(self) -> bool:
        """Return whether the server refused the request for lack of rights (403)."""
        return self.status == 403

    @property
    def is_too_many_requests(self) -> bool:
        """Return whether the server limits requests, or a budget forbids an eviction (429)."""
        return self.status == 429

    @property
    def maybe_applied(self) -> bool:
        """Return whether the server may have applied a write nevertheless: read to find out."""
        return self.status >= 500 and self.status != 503


class NoAnswerError(ApiError):
    """A request without a response; `sent` is whether the server may have received it.

    `status` is 0.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(0, message, method=method, url=url)
        self.sent = sent
        request = " ".join(part for part in (method, url) if part)
        self.args = (": ".join(part for part in (request, self.message) if part),)

    @property
    def maybe_applied(self) -> bool:
        """Return whether the server may have applied a write nevertheless: read to find out."""
        return self.sent


class LeaseExpiredError(NoAnswerError):
    """A write that was not sent, because another scheduler may hold the lease by now."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False)


class ExtenderError(MooringError):
    """The failure of an extender, worded as by kube-scheduler and cut to MAX_TEXT bytes."""

    def __init__(self, message: str) -> None:
        super().__init__(cut_text(message))


class StorageError(MooringError):
    """The local API server could not write an object to its data folder; nothing changed."""


class JournalError(MooringError):
    """A journal that cannot be written or read. The text says what to do."""


class PluginError(MooringError):
    """A plugin that raised, returned the wrong type, or cannot be registered."""

    def __init__(
        self,
        message: str,
        *,
        plugin: str,
        point: str | None = None,
        node: str | None = None,
    ) -> None:
        self.message = message
        self.plugin = plugin
        self.point = point
        self.node = node
        where = f"plugin {plugin}"
        if point:
            where += f", point {point}"
        if node:
            where += f", node {node}"
        super().__init__(f"{where}: {message}")
