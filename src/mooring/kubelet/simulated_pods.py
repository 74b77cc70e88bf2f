"""SimulatedPods: pods of Mooring's images that start no process, and the flags that change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mooring.api import Pod
from mooring.controllers.work_queue import Key
from mooring.kubelet.image_contents import OWN, ImageContents

#: The flags of `mooring up`.
NAMED = f"--image {OWN}"
LOADED = "--run-loaded-images"
#: The reason of the Event about such a pod.
REASON = "Simulated"
_BY_NAME = "only images that `mooring up` is started with run as processes"
_BY_ORIGIN = "pods that a file or another cluster brought start no processes"

#: With more such pods than this, no further Events are recorded: nobody would read them.
MOST_TOLD = 1000

#: Returns whether the pod of a namespace, name and uid is loaded.
IsLoaded = Callable[[str, str, str], bool]


class SimulatedPods:
    """The pods whose containers would run as processes with more flags. Owned by the PodRunner."""

    def __init__(self, images: ImageContents, is_loaded: IsLoaded | None, run_loaded: bool) -> None:
        self._images = images
        self._is_loaded = None if run_loaded else is_loaded
        self._flags: dict[Key, tuple[str, str]] = {}

    def runs(self, pod: Pod) -> bool:
        """Return whether any container of a pod runs as a process."""
        images = self._images
        is_named = any(images.find(one.image) is not None for one in pod.spec.containers)
        return is_named and not self._is_held(pod)

    def _is_held(self, pod: Pod) -> bool:
        metadata = pod.metadata
        return self._is_loaded is not None and self._is_loaded(
            metadata.namespace, metadata.name, metadata.uid
        )

    def missing(self, pod: Pod) -> tuple[str, ...]:
        """Return the flags without which a pod is only simulated; () if none would change that."""
        unnamed = any(self._images.lacks(one.image) for one in pod.spec.containers)
        named = any(self._images.find(one.image) is not None for one in pod.spec.containers)
        if not (unnamed or named):
            return ()
        held = (LOADED,) if self._is_held(pod) else ()
        return (NAMED, *held) if unnamed else held

    def note(self, pod: Pod) -> str:
        """Record a pod that is simulated; return the message for its Event, "" for none."""
        key = (pod.metadata.namespace, pod.metadata.name)
        flags = self.missing(pod)
        if not flags:
            return ""
        known = (pod.metadata.uid, " ".join(flags))
        if self._flags.get(key) == known:
            return ""
        self._flags[key] = known
        if len(self._flags) > MOST_TOLD:
            return ""
        why = _BY_ORIGIN if LOADED in flags else _BY_NAME
        return f"Containers of {OWN} are simulated: {why}; start it with {known[1]} to run them"

    def forget(self, key: Key) -> None:
        """Forget a pod that is gone."""
        self._flags.pop(key, None)

    def counts(self) -> dict[str, int]:
        """Return how many pods lack each set of flags."""
        return dict(Counter(flags for _, flags in self._flags.values()))
