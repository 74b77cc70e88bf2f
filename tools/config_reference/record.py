"""Record how kube-scheduler reads the configurations in tests/config/reference*.yaml.

Usage: python tools/config_reference/record.py 1.37.1 tests/config/reference.yaml
       python tools/config_reference/record.py 1.36.4 tests/config/reference_1_36.yaml

Needs Go. The Go program beside this file is built first, in a temporary directory, against
k8s.io/kubernetes of the release and its staging modules.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
HEADER = """\
# Configurations, and what kube-scheduler v{} makes of them: the v1 form that it prints, or its
# errors. `expected` is written by tools/config_reference/record.py.
"""


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that prints multi-line strings as blocks."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def build(release: str, folder: Path) -> Path:
    """Build the program for a release such as 1.37.1 in `folder` and return its path."""
    shutil.copy(HERE / "main.go", folder)
    module = json.loads(_run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{release}"]))
    text = Path(module["GoMod"]).read_text(encoding="utf-8")
    staging = sorted(
        set(re.findall(r"^\t(k8s\.io/[\w.-]+) v0\.0\.0(?: //.*)?$", text, re.MULTILINE))
    )
    go = re.findall(r"^go (\S+)$", text, re.MULTILINE)[0]
    replaced = "".join(f"\t{name} => {name} v0.{release.removeprefix('1.')}\n" for name in staging)
    (folder / "go.mod").write_text(
        f"module config_reference\n\ngo {go}\n\nrequire k8s.io/kubernetes v{release}\n\n"
        f"replace (\n{replaced})\n",
        encoding="utf-8",
    )
    _run(["go", "mod", "tidy"], folder)
    _run(["go", "build", "-o", "config_reference", "."], folder)
    return folder / "config_reference"


def record(release: str, file: Path, binary: Path) -> None:
    """Write kube-scheduler's output into a file of cases."""
    cases: list[dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for case in cases:
        answer = subprocess.run(
            [str(binary), case["gates"]],
            input=case["config"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        case["expected"] = answer.removesuffix("%%%%\n")
    text = yaml.dump(cases, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    file.write_text(HEADER.format(release) + text, encoding="utf-8")


def _run(command: list[str], folder: Path | None = None) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(argv: list[str]) -> int:
    """Record one release."""
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    release, file = argv
    with tempfile.TemporaryDirectory() as temporary:
        record(release, Path(file), build(release, Path(temporary)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
