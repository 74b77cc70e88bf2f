"""The page of every metric of the scheduler."""

from __future__ import annotations

import re

from mooring.observe.metrics import Metrics
from mooring.observe.process_metrics import ProcessMetrics

_STABILITY = re.compile(r"\[(ALPHA|BETA|STABLE)\] ")
_INTRODUCTION = (
    "The metrics of `/metrics`, with kube-scheduler's names, labels and buckets. Metrics of a "
    "feature that is off are not exposed."
)


def page() -> str:
    """Return the page as Markdown."""
    metrics = Metrics(enabled=lambda gate: True)
    process = ProcessMetrics(metrics.registry, "v0.0.0", emulation="0.0", min_compatibility="0.0")
    families = [*metrics.maker.families, *process.maker.families]
    rows = ["| Metric | Type | Labels | Stability | Meaning |", "|---|---|---|---|---|"]
    for family in sorted(families, key=lambda one: one.name):
        found = _STABILITY.match(family.help)
        stability = found[1] if found else ""
        text = _STABILITY.sub("", family.help).replace("|", "\\|").replace("<", "&lt;")
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append(f"| `{family.name}` | {family.kind} | {labels} | {stability} | {text} |")
    return "\n\n".join(["# Metrics", _INTRODUCTION, "\n".join(rows)]) + "\n"
