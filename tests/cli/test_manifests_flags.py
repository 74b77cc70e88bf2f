from __future__ import annotations

import mooring
from mooring.cli.main import make_parser


def test_default_image_has_the_version_of_the_package() -> None:
    args = make_parser("manifests").parse_args(["manifests"])
    assert args.image == f"mooring:{mooring.__version__}"
    assert (args.name, args.namespace, args.replicas) == ("", "kube-system", None)
