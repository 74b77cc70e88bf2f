"""AppGroup: an application whose workloads depend on each other over the network."""

# diktyo-io/appgroup-api: pkg/apis/appgroup/v1alpha1/types.go

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import TypedObject
from mooring.api.quantity import QuantityText
from mooring.api.wire import Wire

#: The pod labels that name its AppGroup and, within it, its workload.
APP_GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"


class AppGroupWorkloadInfo(Wire, frozen=True, kw_only=True):
    """A reference to a workload; `selector` is the value of its pods' workload label."""

    kind: str = ""
    name: str = ""
    selector: str = ""
    api_version: str = ""
    namespace: str = ""


class AppGroupDependency(Wire, frozen=True, kw_only=True):
    """A workload that another one talks to, and what the network between them must offer."""

    workload: AppGroupWorkloadInfo = AppGroupWorkloadInfo()
    min_bandwidth: QuantityText = 0
    max_network_cost: int = 0


class AppGroupWorkload(Wire, frozen=True, kw_only=True):
    """A workload of the group and its dependencies."""

    workload: AppGroupWorkloadInfo = AppGroupWorkloadInfo()
    dependencies: tuple[AppGroupDependency, ...] = ()


class AppGroupSpec(Wire, frozen=True, kw_only=True):
    """The workloads of a group, and how they are put in order."""

    num_members: int = 0
    topology_sorting_algorithm: str = ""
    workloads: tuple[AppGroupWorkload, ...] = ()


class AppGroupTopology(Wire, frozen=True, kw_only=True):
    """The place of a workload in the order of its group."""

    workload: AppGroupWorkloadInfo = AppGroupWorkloadInfo()
    index: int = 0


class AppGroupStatus(Wire, frozen=True, kw_only=True):
    """The observed state of a group, written by its controller."""

    running_workloads: int = 0
    schedule_start_time: str | None = None
    topology_calculation_time: str | None = None
    #: Sorted by the workloads' selectors.
    topology_order: tuple[AppGroupTopology, ...] = ()


class AppGroup(TypedObject, frozen=True, kw_only=True):
    """An application whose workloads depend on each other."""

    api_version: ClassVar[str] = "appgroup.diktyo.x-k8s.io/v1alpha1"
    kind: ClassVar[str] = "AppGroup"

    spec: AppGroupSpec = AppGroupSpec()
    status: AppGroupStatus = AppGroupStatus()
