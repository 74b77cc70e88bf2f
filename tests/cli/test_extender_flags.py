from __future__ import annotations

from mooring.cli.main import make_parser


def test_section_of_kube_scheduler_has_flags() -> None:
    argv = ["extender", "--managed-resource=example.com/gpu", "--no-node-cache-capable"]
    args = make_parser("extender").parse_args(argv)
    assert (args.port, args.http_timeout) == (8443, "5s")
    assert args.managed_resource == ["example.com/gpu"]
    assert args.node_cache_capable is False
