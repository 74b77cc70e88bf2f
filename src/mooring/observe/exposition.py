"""The text format of /metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

#: From this value on Go writes numbers with an exponent. # strconv/ftoa.go
_PLAIN = 1e6

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
        yield f"{sample.name}{shown} {_number(float(sample.value))}\n"


def _bound(bound: str) -> str:
    return bound if bound == "+Inf" else _number(float(bound))


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if abs(value) < _PLAIN:
        return str(int(value)) if value.is_integer() else repr(value)
    # The shortest digits that parse to the same number, formatted as Go's 'g' does.
    digits, exponent = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{digits}e{int(exponent):+03d}"
