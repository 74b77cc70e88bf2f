"""Documents of older versions."""

from __future__ import annotations

from typing import Any

from mooring.config.convert import Converted, convert


def older(version: str, **fields: Any) -> Converted:
    """Convert a document of a version of the group."""
    return convert(
        {
            "apiVersion": f"kubescheduler.config.k8s.io/{version}",
            "kind": "KubeSchedulerConfiguration",
            **fields,
        }
    )


def enable(*names: str, disable: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the plugins of a point."""
    return {
        "enabled": [{"name": name} for name in names],
        "disabled": [{"name": name} for name in disable],
    }


def only_profile(converted: Converted) -> dict[str, Any]:
    """Return the only profile of a conversion that succeeded."""
    assert converted.errors == []
    (only,) = converted.doc_v1["profiles"]
    return only


def errors(converted: Converted) -> list[str]:
    """Return the errors of a conversion as text."""
    return [str(error) for error in converted.errors]
