"""Build a kubectl of an older release into the cache folder of tools/testenv.

Usage: python -m tools.older_kubectl.build

Needs Go, and about two minutes once. Without it the tests that use it are skipped.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.testenv.build import cache_folder

HERE = Path(__file__).resolve().parent
#: The Kubernetes release of the k8s.io/kubectl version in go.mod.
VERSION = "v1.32.13"
VARIABLE = "OLDER_KUBECTL"


def target() -> Path:
    """Return the path of the built kubectl, whether or not it exists."""
    system = f"{platform.system()}-{platform.machine()}".lower()
    return cache_folder() / f"kubectl-{VERSION}-{system}"


def find() -> Path | None:
    """Return the path of kubectl: that of $OLDER_KUBECTL, or the one built here."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    return target() if target().is_file() else None


def build() -> str:
    """Build kubectl; return the reason why it failed, or ""."""
    if target().is_file():
        return ""
    go = shutil.which("go")
    if go is None:
        return "Go is not installed"
    major, minor, _ = VERSION.removeprefix("v").split(".")
    values = {"gitVersion": VERSION, "gitMajor": major, "gitMinor": minor}
    package = "k8s.io/component-base/version"
    flags = ["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in values.items())]
    target().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target().parent, prefix=".kubectl-") as scratch:
        output = Path(scratch) / "kubectl"
        command = ["nice", go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-p=2"]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
        status = subprocess.run(
            [*command, f"-ldflags={' '.join(flags)}", f"-o={output}", "."],
            cwd=HERE,
            env=environment,
        ).returncode
        if status != 0:
            return f"go build failed with status {status}"
        # Rename at the end, so that the file only appears complete.
        output.rename(target())
    return ""


def main() -> int:
    """Build kubectl and print its path."""
    problem = build()
    print(f"kubectl {VERSION}: {problem or target()}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
