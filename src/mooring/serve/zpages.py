"""/flagz and /statusz: the flags and the status of the process."""

# apiserver: pkg/server/flagz, pkg/server/statusz

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.api.timestamps import format_time

COMPONENT = "kube-scheduler"
TEXT, JSON, YAML = "text/plain", "application/json", "application/yaml"
NOT_ACCEPTABLE = (
    "only the following media types are accepted: application/json, application/yaml, text/plain"
)
DEPRECATED = "This version of the {page} endpoint is deprecated. Please use a newer version."

_VERSIONS = ("v1alpha1", "v1beta1")

_WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only."
)


def flagz_text(flags: Mapping[str, str]) -> str:
    """Return every flag with its value, as text for people."""
    lines = [f"{name} {value}" for name, value in sorted(flags.items())]
    return "\n".join([_head("flagz"), *lines, ""])


def flagz_data(flags: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return every flag with its value, as an object for programs."""
    return {**_object("Flagz", version), "flags": dict(sorted(flags.items()))}


def statusz_text(
    started: float, now: float, version: str, emulation: str, paths: Iterable[str]
) -> str:
    """Return the start time and versions of the process, as text for people."""
    hours, rest = divmod(max(0, int(now - started)), 3600)
    minutes, seconds = divmod(rest, 60)
    since = time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(started))
    return "\n".join(
        [
            _head("statusz"),
            "",
            f"Started: {since}",
            f"Up: {hours} hr {minutes:02d} min {seconds:02d} sec",
            f"Python version: {platform.python_version()}",
            f"Binary version: {version}",
            f"Emulation version: {emulation}",
            f"Paths: {' '.join(first_parts(paths))}",
            "",
        ]
    )


def statusz_data(
    started: float,
    now: float,
    version: str,
    emulation: str,
    paths: Iterable[str],
    api_version: str,
) -> dict[str, Any]:
    """Return the start time and versions of the process, as an object for programs."""
    return {
        **_object("Statusz", api_version),
        "startTime": format_time(started),
        "uptimeSeconds": max(0, int(now - started)),
        "goVersion": "",
        "binaryVersion": version,
        "emulationVersion": emulation,
        "paths": first_parts(paths),
    }


class PageForm(msgspec.Struct, frozen=True):
    """The format of a page: text for people, or an object of some version."""

    media: str
    version: str = ""


def negotiate(accept: str, kind: str) -> PageForm | None:
    """Return the format that an Accept header asks for; None if it is not supported.

    Objects are returned only if the header names their kind and version.
    """
    # apiserver: pkg/endpoints/handlers/negotiation/negotiate.go
    if not accept.strip():
        return PageForm(TEXT)
    for media, asked in _clauses(accept):
        named = (asked.get("g"), asked.get("as"))
        is_object = named == ("config.k8s.io", kind) and asked.get("v") in _VERSIONS
        if media in (JSON, YAML) and is_object:
            return PageForm(media, asked["v"])
        if media in (TEXT, "text/*", "*/*") and not asked.keys() & {"g", "v", "as"}:
            return PageForm(TEXT)
    return None


def accepts_json(accept: str) -> bool:
    """Return whether an Accept header names JSON without a kind."""
    return any(media == JSON and "as" not in asked for media, asked in _clauses(accept))


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Return the media types of an Accept header with their parameters, best first."""
    clauses = []
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        asked = dict(part.partition("=")[::2] for part in parameters)
        try:
            quality = float(asked.pop("q", "1"))
        except ValueError:
            quality = 1.0
        clauses.append((quality, media, asked))
    clauses.sort(key=lambda clause: -clause[0])
    return [(media, asked) for _, media, asked in clauses]


def first_parts(paths: Iterable[str]) -> list[str]:
    """Return the first segments of paths, each once."""
    return sorted({"/" + path.split("/")[1] for path in paths})


def _head(page: str) -> str:
    return f"\n{COMPONENT} {page}\n{_WARNING}"


def _object(kind: str, version: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": COMPONENT},
    }
