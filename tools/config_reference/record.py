"""Record how kube-scheduler reads the configurations in tests/config/reference.yaml.

Usage: python tools/config_reference/record.py [BINARY]

Needs Go. Without BINARY, the Go program beside this file is built first, in a temporary directory,
against k8s.io/kubernetes v1.36.4 and its staging modules.
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
CASES = HERE.parent.parent / "tests" / "config" / "reference.yaml"
KUBERNETES = "v1.36.4"
STAGING = "v0.36.4"
HEADER = """\
# Configurations, and what kube-scheduler v1.36.4 makes of them: the v1 form that it prints, or its
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


def build(folder: Path) -> Path:
    """Build the program in `folder` and return its path."""
    shutil.copy(HERE / "main.go", folder)
    module = json.loads(_run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"]))
    text = Path(module["GoMod"]).read_text(encoding="utf-8")
    staging = sorted(
        set(re.findall(r"^\t(k8s\.io/[\w.-]+) v0\.0\.0(?: //.*)?$", text, re.MULTILINE))
    )
    go = re.findall(r"^go (\S+)$", text, re.MULTILINE)[0]
    replaced = "".join(f"\t{name} => {name} {STAGING}\n" for name in staging)
    (folder / "go.mod").write_text(
        f"module config_reference\n\ngo {go}\n\nrequire k8s.io/kubernetes {KUBERNETES}\n\n"
        f"replace (\n{replaced})\n",
        encoding="utf-8",
    )
    _run(["go", "mod", "tidy"], folder)
    _run(["go", "build", "-o", "config_reference", "."], folder)
    return folder / "config_reference"


def record(binary: Path) -> None:
    """Write kube-scheduler's output into the file of cases."""
    cases: list[dict[str, Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))
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
    CASES.write_text(HEADER + text, encoding="utf-8")


def _run(command: list[str], folder: Path | None = None) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            record(build(Path(temporary)))
