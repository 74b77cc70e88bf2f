from __future__ import annotations

from mooring.cli.main import make_parser


def test_plugins_add_up() -> None:
    argv = ["replay", "folder", "--from=10m", "--plugin=a.py:A", "--plugin=b.py:B"]
    args = make_parser("replay").parse_args(argv)
    assert (args.folder, args.since, args.until) == ("folder", "10m", None)
    assert args.plugin == ["a.py:A", "b.py:B"]
