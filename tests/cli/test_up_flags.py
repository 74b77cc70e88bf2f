from __future__ import annotations

import pytest

from mooring.cli.main import main, make_parser
from mooring.cli.pid_file import KUBECONFIG


def test_flags_have_their_types() -> None:
    argv = ["up", "--nodes=0", "--journal-max-bytes=1Mi", "--emulated-version=1.36"]
    args = make_parser("up").parse_args(argv)
    assert (args.nodes, args.port, args.kubeconfig) == (0, 0, KUBECONFIG)
    assert args.journal_max_bytes == 2**20
    assert args.emulated_version == ["1.36"]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--nodes=-1", "argument --nodes: must be a non-negative integer, got -1"),
        ("--port=65536", "argument --port: must be a port from 0 to 65535, got 65536"),
    ],
)
def test_a_number_out_of_range_is_refused(
    flag: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["up", flag])
    assert capsys.readouterr().err.endswith(f"{message}\n")
