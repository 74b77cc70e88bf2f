"""Ports for containers that share one address."""

from __future__ import annotations

import socket

import pytest

from mooring.kubelet.command_lines import flag_value
from mooring.kubelet.container_ports import Ports


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_second_of_two_gets_another_port() -> None:
    ports, wanted = Ports(), str(free_port())
    asked = ["run", f"--secure-port={wanted}"]
    first, second = ports.adapt(asked, "a"), ports.adapt(asked, "b")
    assert flag_value(first, "secure-port") == wanted
    assert flag_value(second, "secure-port") not in (wanted, None)
    ports.release("a")
    assert flag_value(ports.adapt(asked, "c"), "secure-port") == wanted


def test_a_port_of_somebody_else_is_left_alone() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        words = Ports().adapt(["run", f"--secure-port={taken}", f"--port={taken}"], "a")
    assert taken not in (flag_value(words, "secure-port"), flag_value(words, "port"))


@pytest.mark.parametrize(
    "given",
    [
        "--bind-address=0.0.0.0",
        "--bind_address=0.0.0.0",
        "--bind-address=::",
        "--bind-address=0:0:0:0:0:0:0:0",
        "--bind-address=::ffff:0.0.0.0",
        "--bind-address=10.244.0.7",
    ],
)
def test_nobody_but_this_machine_is_served(given: str) -> None:
    words = ["run", given, f"--secure-port={free_port()}"]
    assert flag_value(Ports().adapt(words, "a"), "bind-address") == "127.0.0.1"
    named = ["run", "--bind-address=127.0.0.2", f"--secure-port={free_port()}"]
    assert Ports().adapt(named, "a") == named


def test_what_serves_nothing_stays_as_it_is() -> None:
    for words in (["run", "--secure-port=0"], ["run", "--secure-port=99999"], ["config"]):
        assert Ports().adapt(words, "a") == words
