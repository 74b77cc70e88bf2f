from mooring_quiet_nodes.plugin import QuietNodes

from mooring.testing import check_plugin, make_node, make_pod, run_score


def test_a_node_with_fewer_pods_is_better():
    nodes = [make_node("a"), make_node("b")]
    there = [make_pod("there", node="a")]
    result = run_score(QuietNodes, pod=make_pod("p"), nodes=nodes, pods=there, args={"cost": 10})
    assert result.raw == {"a": 90, "b": 100}


def test_the_contract_is_kept():
    check_plugin(QuietNodes)
