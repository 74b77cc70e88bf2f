"""Normalising the scores of one plugin."""

from __future__ import annotations

import numpy as np

from mooring import MAX_NODE_SCORE
from mooring.typing import Scores


def min_max(scores: Scores) -> Scores:
    """Scale scores so that the lowest becomes 0 and the highest 100; equal scores become 0."""
    lowest, highest = int(scores.min()), int(scores.max())
    if lowest == highest:
        return np.zeros_like(scores)
    return (scores - lowest) * MAX_NODE_SCORE // (highest - lowest)
