"""/flagz and /statusz: how the process was started, and how it is."""

# apiserver: pkg/server/flagz, pkg/server/statusz

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping
from typing import Any

COMPONENT = "kube-scheduler"

_WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only."
)


def flagz_text(flags: Mapping[str, str]) -> str:
    """Return every flag with its value, for people."""
    lines = [f"{name} {value}" for name, value in sorted(flags.items())]
    return "\n".join([_head("flagz"), *lines, ""])


def flagz_data(flags: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return every flag with its value, for programs."""
    return {**_object("Flagz", version), "flags": dict(sorted(flags.items()))}


def statusz_text(started: float, now: float, version: str, paths: Iterable[str]) -> str:
    """Return since when the process runs and what it is, for people."""
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
            f"Emulation version: {version.rpartition('.')[0]}",
            f"Paths: {' '.join(first_parts(paths))}",
            "",
        ]
    )


def statusz_data(
    started: float, now: float, version: str, paths: Iterable[str], api_version: str
) -> dict[str, Any]:
    """Return since when the process runs and what it is, for programs."""
    return {
        **_object("Statusz", api_version),
        "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "uptimeSeconds": max(0, int(now - started)),
        "goVersion": "",
        "binaryVersion": version,
        "emulationVersion": version.rpartition(".")[0],
        "paths": first_parts(paths),
    }


def structured_version(accept: str, kind: str) -> str | None:
    """Return the version in which an Accept header asks for JSON; None where text will do."""
    for option in accept.split(","):
        media, *parameters = (part.strip() for part in option.split(";"))
        asked = dict(part.partition("=")[::2] for part in parameters)
        if (
            media == "application/json"
            and asked.get("g") == "config.k8s.io"
            and asked.get("as") == kind
            and asked.get("v") in ("v1alpha1", "v1beta1")
        ):
            return asked["v"]
    return None


def first_parts(paths: Iterable[str]) -> list[str]:
    """Return the first parts of paths, each once."""
    return sorted({"/" + path.split("/")[1] for path in paths})


def _head(page: str) -> str:
    return f"\n{COMPONENT} {page}\n{_WARNING}"


def _object(kind: str, version: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": COMPONENT},
    }
