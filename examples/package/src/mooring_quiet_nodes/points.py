"""The arithmetic of the plugin, in a file of its own."""

from mooring import MAX_NODE_SCORE


def points(pods: int, cost: int) -> int:
    """Return the score of a node, from 0 to 100: each pod on it costs some points."""
    return max(0, MAX_NODE_SCORE - cost * pods)
