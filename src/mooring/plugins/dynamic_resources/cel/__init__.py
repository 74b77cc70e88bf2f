"""Device selectors in CEL: the part of the language that selectors are written in.

Parsed once, turned into Python functions, and evaluated on a device. What is not understood is a
CompileError that says so; `selector.py` is the whole face of this package.
"""

from __future__ import annotations

from mooring.plugins.dynamic_resources.cel.selector import SelectorCache, device_variables
from mooring.plugins.dynamic_resources.cel.values import CompileError, EvaluationError

__all__ = ["CompileError", "EvaluationError", "SelectorCache", "device_variables"]
