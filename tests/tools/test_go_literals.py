"""The reader of Go's constants and literals."""

from __future__ import annotations

from typing import Any

import pytest

from tools.go_literals import Unreadable, assigned, evaluate

GO = """
const Plugin = "Plugin"

const (
	Least Mode = "Least"
)

var (
	seconds      int64 = 60
	mode               = Least
	margin             = 1.0
	verify             = true
	weights            = map[v1.ResourceName]float64{
		v1.ResourceCPU:    margin,
		v1.ResourceMemory: 0.5,
	}
	resources = []api.Resource{
		{Name: "cpu", Weight: 1 << 20}, {Name: string(v1.ResourceMemory), Weight: 1},
	}
)

func Other() {
	seconds := 5
}
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Plugin", "Plugin"),
        ("&seconds", 60),
        ("mode", "Least"),
        ("other.Least", "Least"),
        ("&verify\n\t}\n}", True),
        ("weights", {"cpu": 1.0, "memory": 0.5}),
        ("resources", [{"name": "cpu", "weight": 1048576}, {"name": "memory", "weight": 1}]),
        ("[]string{metav1.NamespaceDefault}", ["default"]),
        ("[]string{}", []),
        ("&Cache{}", {}),
        ("&Strategy{\n\tType: mode,\n\tResources: []R{{Name: Plugin}},\n}",
         {"type": "Least", "resources": [{"name": "Plugin"}]}),
        ('List{v1.ResourceCPU: resource.MustParse(strconv.FormatInt(seconds, 10) + "m")}',
         {"cpu": "60m"}),
    ],
)  # fmt: skip
def test_an_expression_has_its_value(expression: str, value: Any) -> None:
    assert evaluate(expression, assigned(GO)) == value


@pytest.mark.parametrize("expression", ["unknown", "", "f(", "[3]int{1}"])
def test_other_expressions_are_refused(expression: str) -> None:
    with pytest.raises(Unreadable):
        evaluate(expression, assigned(GO))


def test_names_of_functions_are_not_read() -> None:
    assert assigned(GO).keys() == {
        "Plugin", "Least", "seconds", "mode", "margin", "verify", "weights", "resources"
    }  # fmt: skip
