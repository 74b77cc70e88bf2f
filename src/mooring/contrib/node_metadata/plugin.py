"""NodeMetadata: prefer nodes by a number or a time in a label or annotation."""

# scheduler-plugins: pkg/nodemetadata/node_metadata.go

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import msgspec
import numpy as np

from mooring import MAX_NODE_SCORE, CycleState, Handle, NodeInfo, Nodes, Plugin
from mooring.api import Node, Pod
from mooring.api.go_numbers import parse_float
from mooring.contrib.node_metadata.time_layout import RFC3339, TimeLayout
from mooring.contrib.score_ranges import NOT_AN_INT64, scaled, to_int64
from mooring.typing import Floats, Scores

#: The raw score of a node without a readable value; it always becomes 0.
INVALID = NOT_AN_INT64

_STRATEGIES = {"Number": ("Highest", "Lowest"), "Timestamp": ("Newest", "Oldest")}


class NodeMetadata(Plugin):
    """The plugin that prefers nodes by a number or a time in a label or annotation.

    Choose it if something outside the scheduler knows which nodes are better (price per hour, age
    of the image, measured power) and writes it on the nodes. Nodes with a readable value are
    scaled to 1…100; a node without one always gets 0.
    """

    name = "NodeMetadata"
    reads_pods = False

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """Where the value is, what it is, and which end is better; all but the format must be
        given."""

        #: The key of the label or annotation; required.
        metadata_key: str = ""
        #: Whether the key is that of a label or of an annotation; required.
        metadata_source: Literal["Label", "Annotation", ""] = ""
        #: Whether the value is a number or a time; required.
        metadata_type: Literal["Number", "Timestamp", ""] = ""
        #: Which values are best; required.
        scoring_strategy: Literal["Highest", "Lowest", "Newest", "Oldest", ""] = ""
        #: A layout of Go's `time` package.
        timestamp_format: str = RFC3339

        def check(self) -> None:
            """Raise ValueError if something is missing or does not go together."""
            for field, value in (
                ("metadataKey", self.metadata_key),
                ("metadataSource", self.metadata_source),
                ("metadataType", self.metadata_type),
                ("scoringStrategy", self.scoring_strategy),
            ):
                if not value:
                    raise ValueError(f"{field} must be given")
            allowed = _STRATEGIES[self.metadata_type]
            if self.scoring_strategy not in allowed:
                raise ValueError(
                    f'scoringStrategy must be "{allowed[0]}" or "{allowed[1]}" with metadataType '
                    f'"{self.metadata_type}", got "{self.scoring_strategy}"'
                )
            TimeLayout(self.timestamp_format)

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self.args.check()
        self._layout = TimeLayout(self.args.timestamp_format or RFC3339)
        self._is_time = self.args.metadata_type == "Timestamp"
        self._negative = self.args.scoring_strategy in ("Lowest", "Newest")

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Return each node's number, or age in seconds, negative if the lower one is better."""
        if self._is_time:
            times = nodes.derive((self.name, self.args), self._read_all)
            return self._raw(nodes.gather(times))
        key = (self.name, self.args)
        scores: Scores = nodes.derive(key, lambda every: self._raw(self._read_all(every)))
        return nodes.gather(scores)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return one node's number, or age in seconds."""
        return int(self._raw(np.array([self._read(node.node)]))[0])

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale nodes with a value to 1…100, all to 1 if they are equal; the others become 0."""
        valid = scores != INVALID
        if not valid.any():
            return np.zeros(len(scores), dtype=np.int64)
        known = scores if valid.all() else scores[valid]
        lowest, highest = int(known.min()), int(known.max())
        if lowest == highest:
            return np.where(valid, np.int64(1), np.int64(0))
        with np.errstate(over="ignore"):
            width = int(known.max() - known.min())
            above = scaled(known - lowest, MAX_NODE_SCORE - 1, width) + 1
        if known is scores:
            return above
        normalized = np.zeros(len(scores), dtype=np.int64)
        normalized[valid] = above
        return normalized

    def sign_pod(self, pod: Pod) -> Hashable:
        """Return the same for every pod, unless the score depends on the time."""
        return None if self._is_time else ()

    def _raw(self, values: Floats) -> Scores:
        known = ~np.isnan(values)
        if self._is_time:
            values = self.handle.clock.wall_time() - values
        raw = to_int64(np.where(known, values, 0.0))
        if self._negative:
            raw = -raw
        return np.where(known, raw, np.int64(INVALID))

    def _read_all(self, nodes: Nodes) -> Floats:
        return np.array([self._read(info.node) for info in nodes.infos()], dtype=np.float64)

    def _read(self, node: Node) -> float:
        """Return the node's number, or its time in seconds since the epoch; NaN if it has none."""
        meta = node.metadata
        source = meta.labels if self.args.metadata_source == "Label" else meta.annotations
        text = source.get(self.args.metadata_key)
        if text is None:
            return np.nan
        if self._is_time:
            time = self._layout.parse(text)
            return np.nan if time is None else time
        number = parse_float(text)
        return np.nan if number is None else number
