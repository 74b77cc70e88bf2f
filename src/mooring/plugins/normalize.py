"""Scaling raw scores to the range of a node score."""

from __future__ import annotations

import numpy as np

from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.typing import Ints

#: Below this, `part * 100 / whole` in float64 truncates to the result of integer division: the
#: product is exact, and a quotient of at most 100 cannot round up to the next integer.
EXACT_LIMIT = 2**46


def normalize_by_max(scores: Ints, *, reverse: bool = False) -> Ints:
    """Scale scores from 0…highest to 0…100; with `reverse` the highest becomes 0.

    If the highest is 0 the scores stay, or all become 100 with `reverse`.
    """
    # kube-scheduler: plugins/helper/normalize_score.go (DefaultNormalizeScore)
    if len(scores) == 1:
        # A single score stands for all nodes; plain integers are faster than an array.
        score = scores.item()
        if score <= 0:
            return np.array([MAX_NODE_SCORE], dtype=np.int64) if reverse else scores
        if score < EXACT_LIMIT:
            return np.array([0 if reverse else MAX_NODE_SCORE], dtype=np.int64)
    highest = int(np.maximum.reduce(scores, initial=0))
    if highest <= 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64) if reverse else scores
    if highest < EXACT_LIMIT:
        scaled = (scores * float(MAX_NODE_SCORE) / highest).astype(np.int64)
    else:
        scaled = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
