"""The types of the plugin contract: arrays of vector methods, and integers of arguments.

A plugin annotates its vector form with them::

    from mooring.typing import Mask, Scores

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores: ...
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

#: One bool per node, for example the nodes that `filter_nodes` refuses.
Mask = npt.NDArray[np.bool_]

#: One int64 per node: amounts (millicores, bytes, counts) and scores.
Ints = npt.NDArray[np.int64]

#: One score per node, in the order of the nodes that were asked about.
Scores = Ints

#: One float64 per node.
Floats = npt.NDArray[np.float64]

#: One small integer per node: an index into the distinct values of a label, taint set or zone.
Codes = npt.NDArray[np.int32]

#: An integer that fits 32 bits, for a field of arguments; other numbers are refused with its range.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]

#: An integer that fits 64 bits.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
