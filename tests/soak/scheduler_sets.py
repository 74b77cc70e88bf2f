"""Cast: the schedulers that a soak runs."""

from __future__ import annotations

import random as random_module
from enum import Enum, auto
from functools import cache
from typing import Any

import msgspec

from mooring.config.load import LoadResult, load_config_data
from mooring.framework.features import FeatureGates
from mooring.registry import Registry, default_registry
from tests.soak.approver import Approver
from tests.soak.scenarios import SCHEDULER
from tests.soak.witness import Witness

_PLUGINS = (Approver, Witness)


class Company(Enum):
    """How schedulers share a cluster."""

    #: There is only one scheduler.
    ALONE = auto()
    #: Two replicas compete for one lease.
    REPLICAS = auto()
    #: Each schedules its own pods, on the same nodes.
    SIDE_BY_SIDE = auto()


class Settings(msgspec.Struct, frozen=True):
    """The settings of one scheduler."""

    registry: Registry
    features: FeatureGates
    config: LoadResult


class Cast(msgspec.Struct, frozen=True):
    """The schedulers of one run, each with its scheduler names."""

    company: Company
    names: tuple[tuple[str, ...], ...] = ((SCHEDULER,),)

    @property
    def all_names(self) -> tuple[str, ...]:
        """All scheduler names."""
        return tuple(dict.fromkeys(name for names in self.names for name in names))


ALONE = Cast(Company.ALONE)
REPLICAS = Cast(Company.REPLICAS, ((SCHEDULER,), (SCHEDULER,)))
SIDE_BY_SIDE = Cast(Company.SIDE_BY_SIDE, ((SCHEDULER,), ("second-scheduler", "third-scheduler")))


def draw_cast(random: random_module.Random) -> Cast:
    """Draw the schedulers of a run; most runs have only one."""
    return random.choices((ALONE, REPLICAS, SIDE_BY_SIDE), (12, 5, 3))[0]


@cache
def settings_of(names: tuple[str, ...], elects: bool) -> Settings:
    """Return the settings of a scheduler with these profiles."""
    more = {"multiPoint": {"enabled": [{"name": plugin.name} for plugin in _PLUGINS]}}
    profiles = [{"schedulerName": name, "plugins": more} for name in names]
    return _settings(default_registry(_PLUGINS), FeatureGates(), profiles, elects=elects)


@cache
def settings_with_gates(*gates: str) -> Settings:
    """Return the settings of a scheduler with the default profile and these gates on."""
    features = FeatureGates(dict.fromkeys(gates, True))
    return _settings(default_registry(), features, [{"schedulerName": SCHEDULER}], elects=False)


def _settings(
    registry: Registry, features: FeatureGates, profiles: list[dict[str, Any]], *, elects: bool
) -> Settings:
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": elects},
            "profiles": profiles,
        },
        registry=registry,
        feature_gates=features,
    )
    return Settings(registry, features, config)
