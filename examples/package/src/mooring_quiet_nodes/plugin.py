"""The plugin."""

import msgspec

from mooring import Plugin
from mooring_quiet_nodes.points import points


class QuietNodes(Plugin):
    """Prefer nodes that run few pods."""

    class Args(msgspec.Struct):
        """What pluginConfig may set."""

        #: The points that each pod costs a node.
        cost: int = 1

    def score(self, state, pod, node):
        """Score a node by the number of its pods."""
        return points(len(node.pods), self.args.cost)
