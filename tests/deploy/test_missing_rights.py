"""A right that is missing: the log says which, in the API server's words, and nothing crashes."""

from __future__ import annotations

import pytest

from mooring.cli.rights import cluster_rules, lease_rules
from tests.deploy.deployed import Deployed, Right, rights_of

CLUSTER_RIGHTS = list(rights_of(cluster_rules()))
LEASE_RIGHTS = list(rights_of(lease_rules("")))
READ = sorted({(right.group, right.resource) for right in CLUSTER_RIGHTS if right.verb == "watch"})
CLUSTER_SCOPE = " at the cluster scope"


def name_of(value: tuple[str, str]) -> str:
    return value[1]


@pytest.mark.parametrize("kind", READ, ids=name_of)
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_kind_that_cannot_be_read(deployed: Deployed, kind: tuple[str, str], verb: str) -> None:
    right = Right(*kind, verb)
    # Where the server streams the first state, to watch is enough; without it, it is a list.
    gone = [right] if verb == "watch" else [right, Right(*kind, "watch")]
    with deployed.without("ClusterRole", *gone), deployed.started() as pod:
        pod.wait_logged(right.words + CLUSTER_SCOPE)
        assert deployed.user in pod.log()
        assert "Traceback" not in pod.log()
        assert pod.runs
