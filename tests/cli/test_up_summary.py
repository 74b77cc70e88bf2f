"""What `mooring up` prints once it is ready."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mooring.cli.up_summary import summary
from mooring.kubelet.image_contents import ImageContents


def lines(
    nodes: list[str],
    *,
    kubeconfig: str = "/k",
    detached: bool = False,
    copied: dict[str, int] | None = None,
    profiles: list[tuple[str, list[str]]] | None = None,
    images: list[tuple[str, str]] | None = None,
) -> list[str]:
    store = SimpleNamespace(items=lambda path: [SimpleNamespace(key=name) for name in nodes])
    cluster: Any = SimpleNamespace(
        server=SimpleNamespace(url="https://127.0.0.1:1", cluster=SimpleNamespace(store=store)),
        copied=SimpleNamespace(counts=copied or {}),
    )
    resolved = [
        SimpleNamespace(scheduler_name=name, plugins=plugins)
        for name, plugins in profiles or [("default-scheduler", ["NodeName"])]
    ]
    settings: Any = SimpleNamespace(
        server=SimpleNamespace(kubeconfig=Path(kubeconfig)),
        plan=SimpleNamespace(config=SimpleNamespace(profiles=resolved)),
        images=ImageContents(images or []),
    )
    return list(summary(cluster, settings, detached=detached))


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([], "none; controllers start with the first that is annotated kwok.x-k8s.io/node=fake"),
        (["a"], "a"),
        (list("abcde"), "a, b, c, d, e"),
        (list("abcdefg"), "a, b, c, d, e and 2 more"),
    ],
)
def test_the_nodes_are_named_or_counted(nodes: list[str], text: str) -> None:
    assert f"  nodes       {text}" in lines(nodes)


def test_the_plugins_that_are_not_built_in_are_named() -> None:
    found = lines(["a"], profiles=[("one", ["NodeName", "Mine"]), ("two", [])])
    assert found[3:5] == ["  scheduler   one, with Mine", "              two"]


def test_what_was_copied_is_counted() -> None:
    assert "  copied      3 nodes, 1 pods" in lines(
        ["a"], copied={"nodes": 3, "jobs": 0, "pods": 1}
    )


def test_what_containers_run_is_shown() -> None:
    assert not any("images" in line for line in lines(["a"]))
    found = lines(["a"], images=[("mine", "/a.py:A"), ("mooring", "")])
    assert found[4:6] == [
        "  images      mine, with /a.py:A",
        "              mooring, with any plugin that a pod names: whoever may create pods may run "
        "code as you",
    ]


def test_what_to_try_depends_on_the_nodes() -> None:
    assert "     kubectl get nodes" in lines([])
    assert "     kubectl run web --image=nginx && kubectl get pods -o wide" in lines(["a"])


def test_paths_are_quoted_for_the_shell() -> None:
    assert "Try: export KUBECONFIG='/a b/k'" in lines(["a"], kubeconfig="/a b/k")


def test_how_it_is_ended() -> None:
    assert lines(["a"])[-1] == "Ctrl-C ends it."
    assert lines(["a"], detached=True)[-1] == "     mooring down --kubeconfig /k"
    assert lines(["a"], detached=True, kubeconfig=".mooring/kubeconfig")[-1] == "     mooring down"
