"""The text format of /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mooring.api.go_format import go_float

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def expose(*sources: Iterable[Any]) -> bytes:
    """Return metrics as text as a Go process writes them: families and labels sorted by name.

    Sources yield `families.MetricFamily` or prometheus_client's `Metric`, which has the same
    fields. Families without a series are left out, and so are the `_created` series, which exist
    only in OpenMetrics.
    """
    families = sorted((family for source in sources for family in source), key=_name)
    return "".join(text for family in families for text in _family(family)).encode()


def _name(family: Any) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _family(family: Any) -> Iterator[str]:
    name = _name(family)
    created = f"{family.name}_created"
    samples = [sample for sample in family.samples if sample.name != created]
    if not samples:
        return
    kind = "untyped" if family.type == "unknown" else family.type
    yield f"# HELP {name} {family.documentation.translate(_HELP_ESCAPES)}\n# TYPE {name} {kind}\n"
    for sample in samples:
        labels = sample.labels
        pairs = [
            f'{label}="{labels[label].translate(_ESCAPES)}"'
            for label in sorted(labels)
            if label != "le"
        ]
        if "le" in labels:
            pairs.append(f'le="{_bound(labels["le"])}"')
        shown = f"{{{','.join(pairs)}}}" if pairs else ""
        yield f"{sample.name}{shown} {go_float(float(sample.value))}\n"


def _bound(bound: str) -> str:
    return bound if bound == "+Inf" else go_float(float(bound))
