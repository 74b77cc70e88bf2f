"""Python names and JSON names of fields: the base class of every Kubernetes Struct.

Objects are immutable and hold no reference cycles, so the garbage collector does not track them
(`gc=False`): a cluster of 50,000 pods adds nothing to its work. Unknown fields are skipped;
absent fields take the zero value, as in Go. Maps are plain dicts for speed: never modify them.
"""

from __future__ import annotations

from inspect import get_annotations
from typing import Any

import msgspec

from mooring.api.spelling import add_spellings, wire_name


class Wire(
    msgspec.Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False
):
    """An immutable part of a Kubernetes object."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let the JSON and Go spellings of the fields say what the Python name is."""
        super().__init_subclass__(**kwargs)
        add_spellings(cls, get_annotations(cls))
