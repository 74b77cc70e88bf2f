"""Whether the validation rules of a definition compile, and what they can cost."""

# apiextensions-apiserver: pkg/apis/apiextensions/validation/{validation,cel_validation}.go

from __future__ import annotations

from collections.abc import Mapping

from mooring.api.field_errors import FieldError, forbidden, invalid
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.rule_programs import Rule, RuleNode, rules_of
from mooring.apiserver.validation.rule_types import MAX_REQUEST, Schema
from mooring.cel.estimates import MAX

#: The most that one rule, and all rules of a schema together, may be estimated to cost.
RULE_LIMIT = 10_000_000
SCHEMA_LIMIT = 100_000_000
CONTRIBUTED = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)
UNCORRELATED = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
_EXCEEDS = (
    "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
    "maxProperties, and maxLength where arrays, maps, and strings are declared)"
)
#: The most rules that are named if all rules together are too expensive.
_NAMED = 4


def check_rule_costs(schema: Schema, path: str, *, unchanged: bool = False) -> list[FieldError]:
    """Return the problems of the rules of a schema.

    If the schema is `unchanged`, the cost of a single rule is not limited.
    """
    node = rules_of(schema)
    if node is None:
        return []
    costs = _Costs(unchanged)
    costs.check(node, 1, path)
    return costs.problems + costs.total(path)


class _Costs:
    def __init__(self, unchanged: bool) -> None:
        self.problems: list[FieldError] = []
        self._unchanged = unchanged
        self._costs: list[tuple[int, str]] = []

    def check(
        self, node: RuleNode, cardinality: int | None, path: str, uncorrelated: str = ""
    ) -> None:
        """Check rules that can apply `cardinality` times to one object; None means no limit.

        `uncorrelated` is the path of an enclosing list whose items have no keys, if there is one:
        their old values cannot be found.
        """
        below = None if cardinality is None else _times(cardinality, _elements(node.schema))
        lost = uncorrelated
        if node.items is not None and node.schema.get("x-kubernetes-list-type") != "map":
            lost = uncorrelated or path
        for end, inner in node.below():
            self.check(inner, below, f"{path}.{end}", lost)
        for i, rule in enumerate(node.rules):
            where = f"{path}.x-kubernetes-validations[{i}]"
            self._rule(node, rule, cardinality, where)
            self._old_self(rule, where, uncorrelated)

    def _old_self(self, rule: Rule, path: str, uncorrelated: str) -> None:
        if rule.uses_old:
            if uncorrelated:
                why = f"{UNCORRELATED} {uncorrelated}"
                self.problems.append(invalid(f"{path}.rule", rule.given["rule"], why))
        elif (optional := rule.given.get("optionalOldSelf")) is not None:
            why = "may not be set if oldSelf is not used in rule"
            self.problems.append(invalid(f"{path}.optionalOldSelf", optional, why))

    def _rule(self, node: RuleNode, rule: Rule, cardinality: int | None, path: str) -> None:
        if rule.error:
            self.problems.append(invalid(f"{path}.rule", _internal(rule.given), rule.error))
        elif rule.expression is not None:
            if cardinality is None:
                cardinality = MAX_REQUEST // (node.declared.min_size + 1)
            cost = min(node.max_cost(rule.expression) * cardinality, MAX)
            self._observe("estimated rule cost", f"{path}.rule", cost)
        if rule.message_error:
            where = f"{path}.messageExpression"
            self.problems.append(invalid(where, _internal(rule.given), rule.message_error))
        elif rule.message is not None:
            cost = node.max_cost(rule.message)
            self._observe("estimated messageExpression cost", f"{path}.messageExpression", cost)

    def _observe(self, name: str, path: str, cost: int) -> None:
        if cost > RULE_LIMIT and not self._unchanged:
            self.problems.append(forbidden(path, _exceeds(name, cost, RULE_LIMIT)))
        self._costs.append((cost, path))

    def total(self, path: str) -> list[FieldError]:
        """Return the problems of a schema whose rules are too expensive in total."""
        total = min(sum(cost for cost, _ in self._costs), MAX)
        if total <= SCHEMA_LIMIT:
            return []
        ordered = sorted(self._costs, key=lambda one: -one[0])
        expensive = [where for cost, where in ordered if cost >= SCHEMA_LIMIT // 100]
        problems = [forbidden(where, CONTRIBUTED) for where in expensive[:_NAMED]]
        return [*problems, forbidden(path, _exceeds(_TOTAL, total, SCHEMA_LIMIT))]


def _internal(rule: Object) -> Object:
    """Return a rule as messages show it: with the fields of the API server's internal type."""
    texts = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    absent = {"reason": None, "optionalOldSelf": None}
    return {name[0].upper() + name[1:]: rule.get(name) or absent.get(name, "") for name in texts}


def _times(count: int, factor: int | None) -> int | None:
    return None if factor is None else min(count * factor, MAX)


def _elements(schema: Schema) -> int | None:
    """Return how often the child of a schema can occur; None if there is no limit."""
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif schema.get("type") == "object" and isinstance(
        schema.get("additionalProperties"), Mapping | bool
    ):
        most = schema.get("maxProperties")
    else:
        return 1
    return None if most is None else max(most, 0)


def _exceeds(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return _EXCEEDS.format(name, shown)
