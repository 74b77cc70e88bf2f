"""The alerting rules: Prometheus accepts them, and they name metrics that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from mooring.observe.metrics import Metrics
from mooring.observe.process_metrics import ProcessMetrics

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "monitoring"
RULES = FOLDER / "alerts.yaml"


@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")],
    ids=["the rules are valid", "the rules fire when they should"],
)
def test_promtool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool not installed")
    done = subprocess.run([program, *arguments], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_metric_and_label_of_the_rules_exists() -> None:
    metrics = Metrics()
    process = ProcessMetrics(
        metrics.registry, "v1.37.1", emulation="1.37", min_compatibility="1.36"
    )
    labels = {family.name: set(family.labels) for family in metrics.maker.families}
    labels |= {family.name: set(family.labels) for family in process.maker.families}
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    for rule in rules:
        for name, matchers in re.findall(r"(\w+)\{([^}]*)\}", rule["expr"]):
            if name == "up":
                continue
            family = name.removesuffix("_bucket")
            used = set(re.findall(r"(\w+)=", matchers)) - {"job"}
            assert family in labels, rule["alert"]
            assert used <= labels[family], rule["alert"]
