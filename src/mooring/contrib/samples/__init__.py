"""The plugins of well-known tutorials, each in a page of Python; see examples/ for their use.

Load one with `--plugin mooring.contrib.samples:Sample`, or in code with
`mooring.main(plugins=[Sample])`.
"""

from __future__ import annotations

from mooring.contrib.samples.blinking_light_scorer import BlinkingLightScorer
from mooring.contrib.samples.name_score import NameScore
from mooring.contrib.samples.prefer_node import PreferNode
from mooring.contrib.samples.prefer_node_score import PreferNodeScore
from mooring.contrib.samples.sample import Sample
from mooring.contrib.samples.sample_plugin import SamplePlugin

__all__ = [
    "BlinkingLightScorer",
    "NameScore",
    "PreferNode",
    "PreferNodeScore",
    "Sample",
    "SamplePlugin",
]
