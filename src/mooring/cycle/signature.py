"""Signatures: which pods get the same answers from the plugins of a profile.

A plugin's `sign_pod` returns a fragment: what its answers depend on besides the node, or None if
they depend on more than the pod and the node. Pods whose fragments are equal get equal answers on
a node, until that node's pods or any node object changes. A plugin that returned Skip gives no
answers, so it does not sign.

# kube-scheduler: framework/runtime/framework.go (SignPod)
"""

from __future__ import annotations

import logging
from collections.abc import Hashable

from mooring.api import Pod
from mooring.cycle.profile import Call, Profile
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.state import CycleState
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

_FAILED = "SignPod failed for plugin"


class Signature:
    """One pod's signature: the fragments of Filter plugins, and on request of Score plugins."""

    __slots__ = ("_fragments", "_pod", "_signer", "key")

    def __init__(
        self, signer: PodSigner, pod: Pod, key: Hashable, fragments: dict[str, Hashable]
    ) -> None:
        #: Equal for pods that Filter cannot tell apart.
        self.key = key
        self._signer = signer
        self._pod = pod
        self._fragments = fragments

    def fragment(self, plugin: str) -> Hashable | None:
        """Return a plugin's fragment; None if it cannot sign the pod."""
        if plugin in self._fragments:
            return self._fragments[plugin]
        return self._signer.fragment(plugin, self._pod)

    def has(self, plugin: str) -> bool:
        """Return whether a plugin has signed as a Filter plugin."""
        return plugin in self._fragments


class PodSigner:
    """The signer of pods for a profile's Filter and Score plugins."""

    def __init__(self, profile: Profile) -> None:
        # Plugins that count over all nodes depend on more than one node, whatever they sign.
        across = {step.name for step in (*profile.add_pod, *profile.remove_pod)}
        names = {step.name for step in profile.filter} | {step.name for step in profile.score}
        self._signs: dict[str, Call | None] = {
            name: None if name in across else getattr(profile.plugins[name], "sign_pod", None)
            for name in names
        }
        self._filters = tuple((step.name, self._signs[step.name]) for step in profile.filter)

    def sign(self, state: CycleState, pod: Pod) -> Signature | None:
        """Sign a pod after PreFilter; return None if a Filter plugin cannot sign it."""
        skips = state.skip_filter_plugins
        fragments: dict[str, Hashable] = {}
        for name, sign in self._filters:
            if name in skips:
                continue
            fragment = None if sign is None else self.fragment(name, pod)
            if fragment is None:
                return None
            fragments[name] = fragment
        return Signature(self, pod, tuple(fragments.items()), fragments)

    def fragment(self, plugin: str, pod: Pod) -> Hashable | None:
        """Return one plugin's fragment; None if it cannot sign the pod or fails."""
        sign = self._signs[plugin]
        if sign is None:
            return None
        try:
            fragment: Hashable | None = sign(pod)
            hash(fragment)
        except BaseException as error:
            raise_if_external(error)
            log_error(log, error_text(error), _FAILED, plugin=plugin, pod=pod)
            return None
        return fragment
