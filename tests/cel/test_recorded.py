"""Estimates, costs, values and errors are the same as cel-go's.

`recorded/costs.json` holds our own expressions and the results of Kubernetes v1.36.4, with
cel-go v0.26.0: device selectors by k8s.io/dynamic-resource-allocation/cel (`CompileCELExpression`,
`DeviceMatches`), validation rules by k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel
(`Compile`, and `Validator.Validate`, whose remaining budget gives the cost).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api.resource import Device
from mooring.apiserver.validation.rule_types import declare
from mooring.apiserver.validation.rules import check_rules, to_cel
from mooring.cel.declared import sizes_below
from mooring.cel.environment import Environment, Expression, Program
from mooring.cel.values import CompileError, EvaluationError
from mooring.plugins.dynamic_resources.selectors import DeviceEnvironment, device_variables

RECORDED = msgspec.json.decode((Path(__file__).parent / "recorded" / "costs.json").read_bytes())
SELECTORS = DeviceEnvironment()
DEVICE = device_variables(
    RECORDED["device"]["driver"],
    msgspec.convert(
        {
            "attributes": RECORDED["device"]["attributes"],
            "capacity": RECORDED["device"]["capacity"],
            "allowMultipleAllocations": RECORDED["device"]["multi"],
        },
        Device,
    ),
)
SCHEMA, OBJECT = RECORDED["schema"], RECORDED["object"]
DECLARED = declare(SCHEMA)
#: The errors of functions and types that can be checked and estimated, but not evaluated.
NOT_BUILT = ("is not supported", "are not supported")


def _cases(name: str) -> list[Any]:
    return [pytest.param(one, id=one["expression"][:80]) for one in RECORDED[name]]


def _program(expression: Expression) -> Program | None:
    try:
        return expression.program()
    except CompileError as error:
        if str(error).endswith(NOT_BUILT):
            return None
        raise


@pytest.mark.parametrize("recorded", _cases("selectors"))
def test_a_selector_is_compiled_estimated_and_evaluated_as_recorded(
    recorded: dict[str, Any],
) -> None:
    source = recorded["expression"]
    if "compile" in recorded:
        with pytest.raises(CompileError) as refused:
            SELECTORS.compile(source).program()
        assert str(refused.value) == recorded["compile"]
        return
    expression = SELECTORS.compile(source)
    assert SELECTORS.max_cost(expression) == recorded["estimate"]
    program = _program(expression)
    assert program is not None
    if "error" in recorded:
        with pytest.raises(EvaluationError) as failed:
            program.evaluate(DEVICE)
        assert (str(failed.value), failed.value.cost) == (recorded["error"], recorded["cost"])
    else:
        assert program.evaluate(DEVICE) == (recorded["result"], recorded["cost"])


@pytest.mark.parametrize("recorded", _cases("rules"))
def test_a_rule_is_compiled_estimated_and_evaluated_as_recorded(recorded: dict[str, Any]) -> None:
    assert DECLARED is not None
    variables = {"self": DECLARED.type, "oldSelf": DECLARED.type}
    environment = Environment(variables, DECLARED)
    if recorded.get("compile") == "cel expression must evaluate to a bool":
        assert environment.compile(recorded["expression"]).type.kind != "bool"
        return
    if "compile" in recorded:
        with pytest.raises(CompileError) as refused:
            environment.compile(recorded["expression"])
        assert f"compilation failed: {refused.value}" == recorded["compile"]
        return
    expression = environment.compile(recorded["expression"])
    assert expression.max_cost(sizes_below(DECLARED)) == recorded["estimate"]
    program = _program(expression)
    if program is None:
        return
    seen = to_cel(SCHEMA, OBJECT)
    try:
        _, cost = program.evaluate({"self": seen, "oldSelf": seen})
    except EvaluationError as error:
        cost = error.cost
    assert cost == recorded["cost"]
    schema = SCHEMA | {"x-kubernetes-validations": [{"rule": recorded["expression"]}]}
    old = OBJECT if "oldSelf" in recorded["expression"] else None
    problems = [f"<nil>: {error.message}" for error in check_rules(schema, OBJECT, old)]
    assert problems == recorded.get("errors", [])
