from __future__ import annotations

from pathlib import Path

from mooring.cli.main import make_parser


def test_kubeconfig_is_a_path() -> None:
    parser = make_parser("status")
    assert parser.parse_args(["status"]).kubeconfig is None
    assert parser.parse_args(["status", "--kubeconfig=x"]).kubeconfig == Path("x")
