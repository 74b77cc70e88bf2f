"""Releases of kube-scheduler whose behaviour can be had, and where they differ.

`--emulated-version=1.36` chooses `V1_36`. kube-scheduler's own emulation changes the defaults of
feature gates and nothing else; here it also brings back the decisions, messages, plugin order and
metric labels of that release. Each difference is one field of `Release`; code asks for the field
and never compares versions.
"""

# kube-scheduler: component-base compatibility/{registry,version}.go, apimachinery util/version

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from mooring.api.field_errors import aggregate
from mooring.api.go_format import go_quote
from mooring.errors import ConfigError

_COMPONENT = "kube"
_VERSION = re.compile(r"\s*v?([0-9]+(?:\.[0-9]+)*)(.*)", re.DOTALL)


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A minor release of kube-scheduler; every field after the version is a difference."""

    #: The minor release, such as (1, 37).
    number: tuple[int, int]
    #: Whether NodeName comes before NodeUnschedulable in the default order of plugins.
    node_name_first: bool
    #: Built-in plugins that do not take part in PreFilter, although they have the method.
    without_pre_filter: frozenset[str]
    #: Whether pod groups exist, with their extension points (`plugins.podGroupPostFilter`).
    pod_groups: bool
    #: Whether DynamicResources says that it found no claim to deallocate for an unschedulable pod.
    says_no_claims: bool
    #: Whether DefaultPreemption says which node it chose, and how many victims it has.
    says_placement: bool
    #: The name of a waiting pod in the labels of its events.
    unscheduled_pod_label: str
    #: The name of a waiting pod in the labels of its own updates.
    target_pod_label: str
    #: Whether a pod's scaling up and a node's preemption policy are actions of their own.
    newer_actions: bool
    #: Whether a plugin that waits for new nodes also waits for changed taints.
    node_add_includes_taints: bool
    #: Whether a pod is nominated while a PreEnqueue plugin keeps it out of the active queue.
    nominates_gated_pods: bool
    #: Whether one anti-affinity term of several is enough for the hints of InterPodAffinity.
    hints_match_any_anti_affinity: bool
    #: Whether the deletion of an allocated claim wakes pods that wait for devices.
    claim_deletion_wakes: bool
    #: Whether image volumes count in the number of images by which ImageLocality scales.
    counts_image_volumes: bool
    #: Whether InterPodAffinity resolves a pod's own namespaceSelector that matches no labels
    #: (NotIn, DoesNotExist) to the namespaces it selects, and not to all.
    resolves_namespace_selectors: bool
    #: Whether DefaultBinder sends a bind again after 500, 503 and refused connections.
    retries_binds: bool
    #: Whether a node must declare VolumeBindMountOptions for a pod that sets such options.
    needs_mount_options_declared: bool
    #: Whether the most that a pod holds during a resize is found container by container.
    resizes_by_container: bool
    #: Whether a victim that exceeds one disruption budget leaves the further ones untouched.
    stops_at_exceeded_budget: bool
    #: Whether victims are counted in metrics even if all of them are being deleted already.
    counts_leaving_victims: bool
    #: Whether a capacity that is rounded up to a step is written in the step's format.
    rounds_in_format_of_step: bool
    #: Whether devices are allocated as in 1.36; `AllocatorFeatures` lists the differences.
    older_allocator: bool
    #: Whether devices state the node resources they consume in `nodeAllocatableResourceMappings`.
    #: A claim that consumes some must then be used by a container, and by only one pod per node.
    older_node_allocatable: bool
    #: Whether metrics have the names, help and stability of `observe/metrics_1_36.py`.
    older_metrics: bool
    #: The gate that adds the GangScheduling plugin to the default profile.
    gang_scheduling_gate: str

    @property
    def version(self) -> str:
        """The version as text, such as `1.37`."""
        return _text(self.number)


#: kube-scheduler 1.36.4.
V1_36 = Release(
    number=(1, 36),
    node_name_first=False,
    without_pre_filter=frozenset({"NodeName", "NodeUnschedulable", "TaintToleration"}),
    pod_groups=False,
    says_no_claims=True,
    says_placement=False,
    unscheduled_pod_label="UnschedulablePod",
    target_pod_label="UnschedulablePod",
    newer_actions=False,
    node_add_includes_taints=True,
    nominates_gated_pods=False,
    hints_match_any_anti_affinity=False,
    claim_deletion_wakes=False,
    counts_image_volumes=False,
    resolves_namespace_selectors=False,
    retries_binds=False,
    needs_mount_options_declared=False,
    resizes_by_container=True,
    stops_at_exceeded_budget=False,
    counts_leaving_victims=False,
    rounds_in_format_of_step=False,
    older_allocator=True,
    older_node_allocatable=True,
    older_metrics=True,
    gang_scheduling_gate="GangScheduling",
)
#: kube-scheduler 1.37.1, the reference.
V1_37 = Release(
    number=(1, 37),
    node_name_first=True,
    without_pre_filter=frozenset(),
    pod_groups=True,
    says_no_claims=False,
    says_placement=True,
    unscheduled_pod_label="UnscheduledPod",
    target_pod_label="TargetPod",
    newer_actions=True,
    node_add_includes_taints=False,
    nominates_gated_pods=True,
    hints_match_any_anti_affinity=True,
    claim_deletion_wakes=True,
    counts_image_volumes=True,
    resolves_namespace_selectors=True,
    retries_binds=True,
    needs_mount_options_declared=True,
    resizes_by_container=False,
    stops_at_exceeded_budget=True,
    counts_leaving_victims=True,
    rounds_in_format_of_step=True,
    older_allocator=False,
    older_node_allocatable=False,
    older_metrics=False,
    gang_scheduling_gate="GenericWorkload",
)
RELEASES = (V1_36, V1_37)
#: The release that is implemented if no other is asked for.
NEWEST = V1_37
#: The oldest minimum compatibility version: kube-scheduler takes those of the last three minors.
_OLDEST_COMPATIBLE = (NEWEST.number[0], NEWEST.number[1] - 3)


class EffectiveVersion(msgspec.Struct, frozen=True):
    """The release that a process emulates, and the oldest one it must be compatible with."""

    release: Release = NEWEST
    #: A minor release such as (1, 36); by default the one before the emulated release.
    min_compatibility: tuple[int, int] = (NEWEST.number[0], NEWEST.number[1] - 1)

    @property
    def min_compatibility_text(self) -> str:
        """The minimum compatibility version as text, such as `1.36`."""
        return _text(self.min_compatibility)

    @property
    def is_newest_only(self) -> bool:
        """Whether nothing older than the emulated release must be supported."""
        return self.min_compatibility >= self.release.number


#: What a process is without flags.
DEFAULT_VERSION = EffectiveVersion()


def parse_versions(
    emulated: Iterable[str] = (), min_compatibility: Iterable[str] = ()
) -> EffectiveVersion:
    """Read the values of `--emulated-version` and `--min-compatibility-version`.

    >>> parse_versions(["kube=1.36"]).release.version
    '1.36'
    """
    number = _kube_version(emulated) or NEWEST.number
    oldest = _kube_version(min_compatibility)
    errors = []
    if not RELEASES[0].number <= number <= NEWEST.number:
        errors.append(
            f"emulation version {_text(number)} is not between "
            f"[{RELEASES[0].version}, {NEWEST.version}.0]"
        )
    if oldest is not None and not _OLDEST_COMPATIBLE <= oldest <= number:
        errors.append(
            f"minCompatibilityVersion version {_text(oldest)} is not between "
            f"[{_text(_OLDEST_COMPATIBLE)}, {_text(number)}]"
        )
    if errors:
        raise ConfigError(aggregate(errors))
    (release,) = (one for one in RELEASES if one.number == number)
    return EffectiveVersion(release, oldest or (number[0], number[1] - 1))


def _text(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))


def _kube_version(values: Iterable[str]) -> tuple[int, int] | None:
    found: dict[str, tuple[int, ...]] = {}
    for value in values:
        component, equals, text = value.partition("=")
        component, text = (component.strip(), text.strip()) if equals else (_COMPONENT, value)
        version = _parse_version(text)
        if len(version) > 2 and version[2]:
            raise ConfigError(f"patch version not allowed, got: {component}={_text(version)}")
        if component in found:
            raise ConfigError(
                f"duplicate version flag, {component}={_text(found[component])} and "
                f"{component}={_text(version)}"
            )
        found[component] = version
    for component in found:
        if component != _COMPONENT:
            raise ConfigError(f"component not registered: {component}")
    if not found:
        return None
    major, minor, *_ = found[_COMPONENT]
    return major, minor


def _parse_version(text: str) -> tuple[int, ...]:
    matched = _VERSION.fullmatch(text)
    if matched is None:
        raise ConfigError(f"could not parse {go_quote(text)} as version")
    parts = matched[1].split(".")
    if len(parts) < 2:
        raise ConfigError(f"illegal version string {go_quote(text)}")
    if parts[0].startswith("0") and parts[0] != "0":
        raise ConfigError(
            f"illegal zero-prefixed version component {go_quote(parts[0])} in {go_quote(text)}"
        )
    return tuple(map(int, parts))
