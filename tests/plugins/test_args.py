"""The arguments' messages are compared with the reference in tests/config/test_reference.py."""

from __future__ import annotations

import pytest

from mooring.framework.features import FeatureGates
from mooring.plugins import ARGS_OF_PLUGIN
from mooring.plugins.args import (
    DynamicResourcesArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

DEFAULT = FeatureGates()


@pytest.mark.parametrize("name", sorted(ARGS_OF_PLUGIN))
def test_the_defaults_are_valid_and_complete(name: str) -> None:
    args = ARGS_OF_PLUGIN[name]().with_defaults(DEFAULT)
    assert args.validate("args", DEFAULT) == []
    assert args.with_defaults(DEFAULT) == args


# kube-scheduler checks these when it builds the plugin, not when it reads the file.
@pytest.mark.parametrize(
    ("args", "errors"),
    [
        pytest.param(
            NodeResourcesFitArgs(ignored_resources=("a b",), ignored_resource_groups=("a/b",)),
            [
                'args.ignoredResources[0]: Invalid value: "a b": name part must consist of',
                'args.ignoredResourceGroups[0]: Invalid value: "a/b": '
                "resource group name can't contain '/'",
            ],
            id="names that are none",
        ),
        pytest.param(
            DynamicResourcesArgs(cel_cost_budget=0),
            ["args.celCostBudget: Invalid value: 0: must be greater than zero"],
            id="a budget without room",
        ),
        pytest.param(
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="Best")),
            [
                'args.scoringStrategy.type: Unsupported value: "Best": supported values: '
                '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
            ],
            id="a strategy that does not exist",
        ),
        pytest.param(
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(
                    type="MostAllocated",
                    resources=(ResourceSpec(name="cpu", weight=101),),
                    requested_to_capacity_ratio=RequestedToCapacityRatioParam(),
                )
            ),
            [
                "args.scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]",
                "args.scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio",
            ],
            id="a weight too large and a ratio too many",
        ),
        pytest.param(
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="RequestedToCapacityRatio")),
            [
                "args.scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
            id="a ratio that is missing",
        ),
        pytest.param(
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(
                    type="RequestedToCapacityRatio",
                    requested_to_capacity_ratio=RequestedToCapacityRatioParam(),
                )
            ),
            [
                "args.scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
            id="a ratio without a shape",
        ),
    ],
)
def test_the_fit_arguments_are_checked(args: NodeResourcesFitArgs, errors: list[str]) -> None:
    found = [str(error) for error in args.with_defaults(DEFAULT).validate("args", DEFAULT)]
    assert len(found) == len(errors)
    for text, error in zip(found, errors, strict=True):
        assert text.startswith(error)


def test_a_strategy_without_resources_weighs_cpu_and_memory() -> None:
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated"))
    resources = args.with_defaults(DEFAULT).scoring_strategy.resources
    assert [(one.name, one.weight) for one in resources] == [("cpu", 1), ("memory", 1)]


def test_gates_bring_defaults_of_their_own() -> None:
    no_scoring = FeatureGates({"StorageCapacityScoring": False})
    assert VolumeBindingArgs().with_defaults(no_scoring).shape == ()
    assert VolumeBindingArgs().with_defaults(DEFAULT).shape == (
        UtilizationShapePoint(utilization=0, score=10),
        UtilizationShapePoint(utilization=100, score=0),
    )
    assert DynamicResourcesArgs().with_defaults(DEFAULT).filter_timeout == 10 * 10**9
    without = FeatureGates({"DRASchedulerFilterTimeout": False})
    assert DynamicResourcesArgs().with_defaults(without).filter_timeout is None
