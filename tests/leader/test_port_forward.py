"""Ports that kubectl forwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import MooringError
from mooring.leader import port_forward as module
from mooring.leader.port_forward import NO_KUBECTL, forwarded_port
from tests.support.fake_kubectl import FakeKubectl


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    return FakeKubectl(tmp_path, monkeypatch)


async def test_a_port_is_forwarded_as_the_flags_say(kubectl: FakeKubectl) -> None:
    kubectl.forward_to(4321)
    async with forwarded_port("kube-system", "sched-0", 10259) as port:
        assert port == 4321
    async with forwarded_port("ns", "p", 1, kubeconfig="/a", context="c"):
        pass
    assert kubectl.calls == [
        "port-forward --namespace=kube-system --address=127.0.0.1 pod/sched-0 :10259",
        "--kubeconfig=/a --context=c port-forward --namespace=ns --address=127.0.0.1 pod/p :1",
    ]


async def test_what_kubectl_says_is_told(
    kubectl: FakeKubectl, caplog: pytest.LogCaptureFixture
) -> None:
    kubectl.fail('Error from server (NotFound): pods "sched-0" not found')
    with pytest.raises(MooringError) as raised:
        async with forwarded_port("kube-system", "sched-0", 10259):
            pass
    assert str(raised.value) == (
        "kubectl cannot forward port 10259 of pod kube-system/sched-0: Error from server "
        '(NotFound): pods "sched-0" not found'
    )
    assert caplog.records == []


async def test_a_kubectl_that_does_not_begin(
    kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    kubectl.hang()
    with pytest.raises(MooringError, match="it said nothing"):
        async with forwarded_port("kube-system", "sched-0", 10259):
            pass


async def test_kubectl_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MooringError) as raised:
        async with forwarded_port("kube-system", "sched-0", 10259):
            pass
    assert str(raised.value) == NO_KUBECTL
