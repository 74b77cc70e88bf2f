"""Whether something that happened is worth another attempt for a pod that was refused.

# kube-scheduler: backend/queue/scheduling_queue.go (isPodWorthRequeuing)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mooring.api import Pod
from mooring.errors import PluginError
from mooring.framework.events import ALL_EVENTS, ClusterEvent, QueueingHint
from mooring.framework.plugin import Plugin


class Hints:
    """Ask the plugins of one profile which events they wait for."""

    def __init__(self, plugins: Mapping[str, Plugin]) -> None:
        self._events = {name: _events_of(plugin) for name, plugin in plugins.items()}

    def worth_requeuing(
        self, pod: Pod, refused_by: Collection[str], happened: ClusterEvent, old: Any, new: Any
    ) -> bool:
        """Tell whether an event may have removed what a pod was refused for.

        A pod that no plugin refused is always worth it; a hint that raises counts as yes, so that
        no pod is forgotten.
        """
        if not refused_by or happened.is_wildcard:
            return True
        return any(
            event.matches(happened) and _says_queue(event, pod, old, new)
            for name in refused_by
            for event in self._events.get(name, (ALL_EVENTS,))
        )


def _events_of(plugin: Plugin) -> tuple[ClusterEvent, ...]:
    register = getattr(plugin, "events_to_register", None)
    if register is None:
        return (ALL_EVENTS,)
    try:
        return tuple(register())
    except Exception as error:
        text = f"events_to_register: {type(error).__name__}: {error}"
        raise PluginError(text, plugin=plugin.name) from error


def _says_queue(event: ClusterEvent, pod: Pod, old: Any, new: Any) -> bool:
    if event.hint is None:
        return True
    try:
        return event.hint(pod, old, new) is not QueueingHint.SKIP
    except Exception:
        return True
