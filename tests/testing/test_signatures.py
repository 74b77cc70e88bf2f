"""Pods that are signed alike get the same answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing import broken


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (broken.SignsTooLittle, "pods that are signed alike get the same answer: .* for pod"),
        (broken.ReadsPodsAfterAll, "reads no pods answers the same without them: .*see reads_pods"),
        (broken.ReadsPodLabelsAfterAll, "with other labels: .*see reads_pod_labels"),
        (broken.SignsWithAList, "a signature is hashable: unhashable type: 'list'"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_promise_is_named(plugin: Any, message: str) -> None:
    broken.check(plugin, message)
