"""The catalogue of the resources that the server serves, built-in and custom."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.controlplane.type_table import ServedResource, StructType, Table

#: A version that kube-apiserver serves only if it is enabled.
# kube-apiserver: pkg/controlplane/instance.go (DefaultAPIResourceConfigSource)
_PRERELEASE = re.compile(r"/v\d+(?:alpha|beta)\d+$")

#: The resources that need a feature gate.
GATED = {
    "scheduling.k8s.io/podgroups": "GenericWorkload",
    "scheduling.k8s.io/workloads": "GenericWorkload",
    "scheduling.k8s.io/compositepodgroups": "CompositePodGroup",
}


class Served(msgspec.Struct, eq=False):
    """One resource in one version."""

    group: str
    version: str
    name: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    hash: str
    type: StructType | None
    subresources: dict[str, ServedResource] = msgspec.field(default_factory=dict)
    #: Its custom resource definition, None for a built-in kind.
    custom: CustomKind | None = None
    list_kind: str = ""
    #: The warning to clients if the version of a custom resource is deprecated.
    warning: str = ""

    @property
    def group_version(self) -> str:
        """Return `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def store(self) -> str:
        """Return the resource's key in the store, which all its versions share."""
        # The core group and events.k8s.io serve the same Events.
        if self.name == "events" and self.group == "events.k8s.io":
            return "/events"
        return f"{self.group}/{self.name}"


class Catalogue:
    """The served resources. `revision` increases with each change."""

    def __init__(
        self, table: Table, enabled: Iterable[str] = (), features: Collection[str] = ()
    ) -> None:
        self.table = table
        self.revision = 0
        self._served: dict[tuple[str, str, str], Served] = {}
        self._versions: dict[str, list[str]] = {}
        wanted = set(enabled)
        for group_version in table.group_versions:
            if _PRERELEASE.search(group_version) and group_version not in wanted:
                continue
            for one in _built_in(table, group_version):
                gate = GATED.get(one.store)
                if gate is None or gate in features:
                    self.add(one)

    def add(self, served: Served) -> None:
        """Add a resource."""
        self._served[served.group, served.version, served.name] = served
        versions = self._versions.setdefault(served.group, [])
        if served.version not in versions:
            versions.append(served.version)
            versions.sort(key=version_rank)
        self.revision += 1

    def is_built_in(self, group: str, name: str) -> bool:
        """Return whether a resource is served without a custom resource definition."""
        return any(
            one.custom is None
            for (of, _, plural), one in self._served.items()
            if (of, plural) == (group, name)
        )

    def is_reserved(self, group: str, version: str, name: str) -> bool:
        """Return whether a definition cannot serve a resource because built-in kinds come first.

        They have their group versions to themselves.
        """
        built_in = any(one.custom is None for one in self.of(group, version))
        return built_in or self.is_built_in(group, name)

    def remove(self, group: str, name: str) -> None:
        """Remove all versions of a custom resource."""
        for key, served in list(self._served.items()):
            if (key[0], key[2]) == (group, name) and served.custom is not None:
                del self._served[key]
        left = {key[1] for key in self._served if key[0] == group}
        versions = [v for v in self._versions.get(group, []) if v in left]
        if versions:
            self._versions[group] = versions
        else:
            self._versions.pop(group, None)
        self.revision += 1

    def get(self, group: str, version: str, name: str) -> Served | None:
        """Return a resource, or None if it is not served."""
        return self._served.get((group, version, name))

    def has(self, group: str, version: str) -> bool:
        """Return whether a group version is served."""
        return version in self._versions.get(group, ())

    def find_kind(self, group_version: str, kind: str) -> Served | None:
        """Return the resource of a kind, or None if it is not served."""
        group, _, version = group_version.rpartition("/")
        for one in self._served.values():
            if (one.group, one.version, one.kind) == (group, version, kind):
                return one
        return None

    def preferred(self, group: str, name: str) -> Served | None:
        """Return a resource in its preferred version, or None if it is not served."""
        for version in self._versions.get(group, ()):
            if found := self._served.get((group, version, name)):
                return found
        return None

    @property
    def groups(self) -> dict[str, list[str]]:
        """Return the versions of each group, preferred first; the core group's key is ""."""
        return self._versions

    def of(self, group: str, version: str) -> Iterator[Served]:
        """Yield the resources of a group version."""
        for (g, v, _), served in self._served.items():
            if (g, v) == (group, version):
                yield served

    def __iter__(self) -> Iterator[Served]:
        return iter(tuple(self._served.values()))


def custom_resource(custom: CustomKind) -> Served:
    """Return the resource of one version of a custom resource definition."""
    main, *parts = custom.resources
    return Served(
        group=custom.group,
        version=custom.version,
        name=main.name,
        kind=custom.kind,
        singular=custom.singular,
        namespaced=custom.namespaced,
        verbs=main.verbs,
        short_names=custom.short_names,
        categories=custom.categories,
        hash="",
        type=custom.type,
        subresources={part.name.partition("/")[2]: part for part in parts},
        custom=custom,
        list_kind=custom.list_kind,
    )


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Return a sort key that puts preferred versions first: v2, v1, v1beta2, v1alpha1, others."""
    # apimachinery: pkg/version/helpers.go
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return (3, 0, 0, version)
    major, stage, minor = match.groups()
    rank = {None: 0, "beta": 1, "alpha": 2}[stage]
    return (rank, -int(major), -int(minor or 0), "")


def _built_in(table: Table, group_version: str) -> list[Served]:
    group, _, version = group_version.rpartition("/")
    found: dict[str, Served] = {}
    for resource in table.resources(group_version):
        name, _, subresource = resource.name.partition("/")
        if subresource:
            found[name].subresources[subresource] = resource
            continue
        found[name] = Served(
            group=group,
            version=version,
            name=name,
            kind=resource.kind,
            singular=resource.singular,
            namespaced=resource.namespaced,
            verbs=resource.verbs,
            short_names=resource.short_names,
            categories=resource.categories,
            hash=resource.storage_version_hash,
            type=table.find(group_version, resource.kind),
            list_kind=f"{resource.kind}List",
        )
    return list(found.values())
