"""What the first process of a container is sent."""

from __future__ import annotations

import os
import threading

import pytest

from mooring.kubelet.container_start import ContainerStart, read_start, without_obeyed


def test_a_start_is_read_as_it_was_sent() -> None:
    start = ContainerStart(
        words=("run", "--v=3", "two\nlines"),
        # More than a pipe holds.
        environment={"A": "\n\x00ü", "LONG": "x" * 10**6},
        folder="/f",
        plugins=("a.py:A",),
    )
    reading, writing = os.pipe()

    def send() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(start.encode())

    sender = threading.Thread(target=send)
    sender.start()
    assert read_start(reading) == start
    sender.join()
    # The parent has ended.
    with pytest.raises(EOFError, match="has ended"):
        read_start(reading)
    os.close(reading)


@pytest.mark.parametrize(
    "name",
    [
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHON_FROZEN_MODULES",
        "LD_PRELOAD",
        "LD_AUDIT",
        "OPENSSL_CONF",
        "SSLKEYLOGFILE",
        "prometheus_multiproc_dir",
        "PROMETHEUS_MULTIPROC_DIR",
        "GCONV_PATH",
        "COVERAGE_PROCESS_START",
        "TMPDIR",
        "HOME",
        "PATH",
        "BASH_ENV",
    ],
)
def test_variables_that_are_obeyed_are_left_out(name: str) -> None:
    assert without_obeyed({name: "/info"}) == {}


@pytest.mark.parametrize(
    "name",
    ["LEVEL", "POD_NAME", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "HOSTNAME", "MY_PATH", "HOMES"],
)
def test_other_variables_reach_the_plugin(name: str) -> None:
    assert without_obeyed({name: "3"}) == {name: "3"}
