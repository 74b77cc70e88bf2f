"""Ports for containers that share one address."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest

from mooring.app.flag_table import ALL
from mooring.app.flags import parse_flags
from mooring.errors import ConfigError
from mooring.kubelet.container_ports import Ports


def flag(words: Sequence[str], name: str) -> Any:
    """Return the value of a flag of `mooring run`."""
    return parse_flags(ALL, words[1:], program="mooring run")[name]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_second_of_two_gets_another_port() -> None:
    ports, wanted = Ports(), free_port()
    asked = ["run", f"--secure-port={wanted}"]
    first, second = ports.adapt(asked, "a"), ports.adapt(asked, "b")
    assert flag(first, "secure-port") == wanted
    assert flag(second, "secure-port") != wanted
    ports.release("a")
    assert flag(ports.adapt(asked, "c"), "secure-port") == wanted


def test_a_port_of_somebody_else_is_left_alone() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        words = Ports().adapt(["run", f"--secure-port={taken}", f"--port={taken}"], "a")
    assert taken not in (flag(words, "secure-port"), flag(words, "port"))


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
    assert flag(Ports().adapt(words, "a"), "bind-address") == "127.0.0.1"
    named = ["run", "--bind-address=127.0.0.2", f"--secure-port={free_port()}"]
    assert Ports().adapt(named, "a") == named


@pytest.mark.parametrize(
    "given",
    [
        ["--bind_address=0.0.0.0", "--cert-dir"],
        ["--secure-port=0", "--port=8080", "--address=0.0.0.0", "--cert-dir"],
        ["--bind-address", "0.0.0.0", "--v=1", "--plugin"],
    ],
    ids=" ".join,
)
def test_a_last_flag_without_a_value_takes_no_added_flag_as_its_value(given: list[str]) -> None:
    words = Ports().adapt(["run", *given], "a")
    with pytest.raises(ConfigError, match="flag needs an argument"):
        flag(words, "bind-address")


def test_a_port_with_underscores_is_known() -> None:
    ports, wanted = Ports(), free_port()
    asked = ["run", f"--secure_port={wanted}"]
    assert flag(ports.adapt(asked, "a"), "secure-port") == wanted
    assert flag(ports.adapt(asked, "b"), "secure-port") != wanted


def test_what_serves_nothing_stays_as_it_is() -> None:
    for words in (["run", "--secure-port=0"], ["run", "--secure-port=99999"], ["config"]):
        assert Ports().adapt(words, "a") == words
