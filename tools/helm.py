"""Build helm, which tests render the chart with, into the cache folder of tools/testenv.

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
# What go.sum would have for it; its own go.sum has the rest.
SUM = "h1:n1if5iQgHYsujPAcO5oonH/KiSNUmqmUF0iGVjSF3AU="


def target() -> Path:
    """Return where helm is, or would be once built."""
    system = f"{platform.system()}-{platform.machine()}".lower()
    return cache_folder() / f"helm-{VERSION}-{system}"


def find() -> Path | None:
    """Return a helm: that of $HELM, the one built here, or one that is installed."""
    if chosen := os.environ.get("HELM"):
        return Path(chosen)
    if target().is_file():
        return target()
    installed = shutil.which("helm")
    return Path(installed) if installed else None


def build() -> str:
    """Build helm; return what is in the way, nothing where all went well."""
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
        # It appears in one step, complete.
        (Path(scratch) / "helm").rename(target())
    return ""


def main() -> int:
    """Build helm and say where it is."""
    problem = build()
    print(f"helm: {problem or target()}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
