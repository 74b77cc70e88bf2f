"""The Go modules of a Kubernetes release, as the tools of this folder read them."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

#: The release whose tables the repository holds.
RELEASE = "1.37.1"


def release_argument(text: str) -> str:
    """Return a release without its v: 1.37.1 of v1.37.1."""
    release = text.removeprefix("v")
    numbers = release.split(".")
    if len(numbers) != 3 or not all(number.isdigit() for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} must be a release, such as 1.37.1")
    return release


def release_parser(usage: str) -> argparse.ArgumentParser:
    """Return a parser of a tool's command line, which has the option --release."""
    parser = argparse.ArgumentParser(
        description=usage, formatter_class=argparse.RawTextHelpFormatter
    )
    help_text = f"a Kubernetes release; default {RELEASE}"
    parser.add_argument("--release", type=release_argument, default=RELEASE, help=help_text)
    return parser


def module_version(module: str, release: str) -> str:
    """Return the version of a k8s.io module in a release: v1.37.1 of kubernetes, else v0.37.1."""
    return f"v{release}" if module == "k8s.io/kubernetes" else f"v0{release[release.index('.') :]}"


def module_folder(module: str, release: str) -> Path:
    """Return the folder of a k8s.io module in the module cache; Go downloads it if necessary."""
    return downloaded(module, module_version(module, release))


def downloaded(module: str, version: str) -> Path:
    """Return the folder of a Go module in the module cache; Go downloads it if necessary."""
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@{version}"], capture_output=True, text=True
    )
    if done.returncode != 0:
        reason = json.loads(done.stdout)["Error"] if done.stdout else done.stderr.strip()
        raise SystemExit(f"{module}@{version}: {reason}")
    return Path(json.loads(done.stdout)["Dir"])
