"""What `mooring up` prints once it is ready: what runs, and what to try next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mooring import __version__
from mooring.apiserver.api import VERSION
from mooring.cli.pid_file import KUBECONFIG
from mooring.kubelet.node_status import ANNOTATION, FAKE

if TYPE_CHECKING:
    from mooring.config import ResolvedProfile
    from mooring.kubelet.image_contents import Image
    from mooring.local.local_cluster import LocalCluster, LocalClusterSettings

#: At most this many nodes are named.
_NAMED = 5


def summary(
    cluster: LocalCluster, settings: LocalClusterSettings, *, detached: bool
) -> Iterator[str]:
    """Yield the lines for a cluster that has just started."""
    nodes = [one.key for one in cluster.server.cluster.store.items("/nodes")]
    kubeconfig = settings.server.kubeconfig
    yield f"The local cluster runs at {cluster.server.url}"
    yield f"  version     Mooring {__version__}, Kubernetes {VERSION['gitVersion']}"
    yield f"  nodes       {_nodes(nodes)}"
    if cluster.copied.counts:
        counts = ((count, name) for name, count in cluster.copied.counts.items() if count)
        yield f"  copied      {', '.join(f'{count} {name}' for count, name in counts)}"
    profiles = [] if settings.plan is None else settings.plan.config.profiles
    for place, profile in enumerate(profiles):
        yield f"  {'' if place else 'scheduler':11} {_profile(profile)}"
    if not profiles:
        yield "  scheduler   none: pods stay pending until you start one, such as `mooring run`"
    for place, (name, image) in enumerate(settings.images.named.items()):
        yield f"  {'' if place else 'images':11} {name}, {_contents(image)}"
    shown = _from_here(kubeconfig)
    yield f"  kubeconfig  {shown}"
    tries = [f"export KUBECONFIG={shlex.quote(shown)}", "kubectl get nodes"]
    if nodes:
        tries[1] = "kubectl run web --image=nginx && kubectl get pods -o wide"
    if detached:
        flag = [] if kubeconfig == KUBECONFIG else ["--kubeconfig", shown]
        tries.append(shlex.join(["mooring", "down", *flag]))
    for place, command in enumerate(tries):
        yield f"{'' if place else 'Try:':4} {command}"
    if not detached:
        yield "Ctrl-C ends it."


def _from_here(kubeconfig: Path) -> str:
    """Return the path of the kubeconfig: absolute unless it is below the current folder."""
    absolute = os.path.abspath(kubeconfig)
    return str(kubeconfig) if Path(absolute).is_relative_to(Path.cwd()) else absolute


def added_plugins(profile: ResolvedProfile) -> tuple[str, ...]:
    """Return the plugins of a profile that are not built in."""
    # Imported here, because a cluster without a scheduler has no profiles.
    from mooring.plugins import BUILT_INS

    own = {plugin.name for plugin in BUILT_INS}
    return tuple(name for name in profile.plugins if name not in own)


def _nodes(names: Sequence[str]) -> str:
    if not names:
        return f"none; controllers start with the first that is annotated {ANNOTATION}={FAKE}"
    shown = ", ".join(names[:_NAMED])
    rest = len(names) - _NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown


def _contents(image: Image) -> str:
    if image.is_confined:
        return f"with {', '.join(image.plugins)}"
    return "with any plugin that a pod names: whoever may create pods may run code as you"


def _profile(profile: ResolvedProfile) -> str:
    added = added_plugins(profile)
    return profile.scheduler_name + (f", with {', '.join(added)}" if added else "")
