"""A kind that a scheduler may not list or watch: the log says which, and nothing crashes.

Each test starts a scheduler of its own. The tests of test_missing_rights.py share one, which
holds the Lease.
"""

from __future__ import annotations

import pytest

from mooring.cli.rights import cluster_rules, pod_group_rules
from tests.deploy.deployed import Deployed, Right, rights_of
from tests.live.running import eventually

#: Those that a server without pod groups asks for: test_pod_group_rights.py has the others.
CLUSTER_RIGHTS = [
    right for right in rights_of(cluster_rules()) if right not in rights_of(pod_group_rules())
]
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


def test_to_watch_is_enough_where_the_server_streams(deployed: Deployed) -> None:
    lists = [right for right in CLUSTER_RIGHTS if right.verb == "list"]
    with deployed.without("ClusterRole", *lists), deployed.started() as pod:
        eventually(lambda: pod.status("/readyz") == 200, "the scheduler is ready")
        pod.wait_logged("Successfully acquired lease")
        assert not pod.refused_requests()
