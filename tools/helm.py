"""Build helm into the cache folder of tools/testenv; tests render the chart with it.

Usage: python -m tools.helm

Needs Go, and about a minute once. Without helm those tests are skipped.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.testenv.build import cache_folder

MODULE = "helm.sh/helm/v3"
VERSION = "v3.22.0"
# The module's checksum, as in a go.sum; its own go.sum covers its dependencies.
SUM = "h1:n1if5iQgHYsujPAcO5oonH/KiSNUmqmUF0iGVjSF3AU="


def target() -> Path:
    """Return the path of the built helm, whether or not it exists."""
    system = f"{platform.system()}-{platform.machine()}".lower()
    return cache_folder() / f"helm-{VERSION}-{system}"


def find() -> Path | None:
    """Return the path of helm: that of $HELM, the one built here, or an installed one."""
    if chosen := os.environ.get("HELM"):
        return Path(chosen)
    if target().is_file():
        return target()
    installed = shutil.which("helm")
    return Path(installed) if installed else None


def build() -> str:
    """Build helm; return the reason why it failed, or ""."""
    go = shutil.which("go")
    if target().is_file():
        return ""
    if go is None:
        return "Go is not installed"
    found = subprocess.run(
        [go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], capture_output=True, text=True
    )
    if found.returncode != 0:
        return f"{MODULE} cannot be had: {found.stderr.strip() or found.stdout.strip()}"
    if json.loads(found.stdout)["Sum"] != SUM:
        return f"{MODULE}@{VERSION} is not what it was"
    target().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target().parent, prefix=".helm-") as scratch:
        command = ["nice", go, "install", "-trimpath", "-ldflags=-s -w"]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOBIN": scratch, "GOWORK": "off"}
        status = subprocess.run(
            [*command, f"{MODULE}/cmd/helm@{VERSION}"], env=environment, cwd=scratch
        ).returncode
        if status != 0:
            return f"go install failed with status {status}"
        # Rename at the end, so that the file only appears complete.
        (Path(scratch) / "helm").rename(target())
    return ""


def main() -> int:
    """Build helm and print its path."""
    problem = build()
    print(f"helm: {problem or target()}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
