"""Objects of kinds that Mooring does not know."""

from __future__ import annotations

from typing import Any

from mooring.api.meta import KubeObject


class CustomResource(KubeObject, frozen=True, kw_only=True):
    """An object of any kind: metadata is typed, everything else is in `raw` (read only)."""

    api_version: str = ""
    kind: str = ""
    raw: dict[str, Any] = {}

    def get(self, path: str, default: Any = None) -> Any:
        """Return the value at a dotted path, such as `spec.minMember` or `spec.items.0`.

        If any step is absent, the default is returned.
        """
        found: Any = self.raw
        for step in path.split("."):
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                return default
        return found
