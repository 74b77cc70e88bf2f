"""The Go modules of a Kubernetes release, as the tools of this folder read them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

#: The release whose tables the repository holds.
RELEASE = "1.37.1"
KUBERNETES = "k8s.io/kubernetes"

_TAG = re.compile(r"v?(1\.\d+\.\d+)")


class Impossible(SystemExit):
    """A release cannot be read or built here. A tool that does not catch it ends with its line."""


def tag(release: str) -> str:
    """Return the tag of a release: 1.37.1 and v1.37.1 are both v1.37.1."""
    found = _TAG.fullmatch(release)
    if found is None:
        raise Impossible(f"{release!r} is not a release such as v1.37.1")
    return f"v{found.group(1)}"


def staging(release: str) -> str:
    """Return the version of the staging modules of a release: v0.37.1 for v1.37.1."""
    return "v0" + tag(release).removeprefix("v1")


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
    return tag(release) if module == KUBERNETES else staging(release)


def module_folder(module: str, release: str) -> Path:
    """Return the folder of a k8s.io module in the module cache; Go downloads it if necessary."""
    return downloaded(module, module_version(module, release))


def downloaded(module: str, version: str) -> Path:
    """Return the folder of a Go module in the module cache; Go downloads it if necessary."""
    with tempfile.TemporaryDirectory() as nowhere:
        # Not in a checkout, whose go.mod would choose another version.
        done = _run("mod", "download", "-json", f"{module}@{version}", folder=Path(nowhere))
    if done.returncode != 0:
        reason = json.loads(done.stdout)["Error"] if done.stdout else _status("mod", done)
        raise Impossible(f"{module}@{version}: {reason}")
    return Path(json.loads(done.stdout)["Dir"])


def go(*arguments: str, folder: Path | None = None) -> str:
    """Run a Go command and return its output; raise Impossible if it fails."""
    done = _run(*arguments, folder=folder)
    if done.returncode != 0:
        raise Impossible(_status(arguments[0], done))
    return done.stdout


def _run(*arguments: str, folder: Path | None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("go")
    if program is None:
        raise Impossible("Go is not installed")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    return subprocess.run(
        [program, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )


def _status(command: str, done: subprocess.CompletedProcess[str]) -> str:
    return f"go {command} failed with status {done.returncode}"
