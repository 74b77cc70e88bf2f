"""Convert older versions of the configuration, and the Policy file, to v1."""

from __future__ import annotations

from mooring.config.convert.converted import Converted, to_yaml
from mooring.config.convert.document import convert
from mooring.config.convert.policy import convert_policy

__all__ = ["Converted", "convert", "convert_policy", "to_yaml"]
