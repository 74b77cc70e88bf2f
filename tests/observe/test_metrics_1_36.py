from __future__ import annotations

from mooring.observe import metrics_1_36
from mooring.observe.metrics import Metrics


def test_every_difference_is_about_a_metric_that_exists() -> None:
    now = {family.name for family in Metrics().maker.families}
    before = {family.name for family in Metrics(as_in_1_36=True).maker.families}
    assert now - before == metrics_1_36.NOT_IN_1_36
    assert before - now == metrics_1_36.ONLY_IN_1_36
    both = now & before
    assert both >= metrics_1_36.ALPHA_IN_1_36
    assert both >= metrics_1_36.HELP_IN_1_36.keys()
