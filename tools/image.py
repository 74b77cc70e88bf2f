"""Build the container image with buildah, on a machine without Docker.

Usage: python -m tools.image [--base pull|debian] [--tag TAG]

`--base debian` makes the base image from Debian's packages with mmdebstrap instead of pulling it
from a container registry. The base is kept in the cache folder of tools/testenv. pip's
configuration and certificates of this machine are secrets of the build: the image does not hold
them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mooring
from tools.testenv.build import cache_folder

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
BASE = "docker.io/library/python:3.11-slim"
TAG = f"localhost/mooring:{mooring.__version__}"
#: The release of Debian whose Python is the base image's.
SUITE = "bookworm"
#: Without root or user namespaces, buildah can only use chroot; vfs needs no kernel module.
ENVIRONMENT = {"BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
#: Where pip reads the configuration of a machine.
PIP_CONFIGURATION = Path("/etc/pip.conf")
#: Variables that name a file of certificates.
CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def buildah(*arguments: str, output: bool = False) -> str:
    """Run buildah; return what it prints if `output` is set."""
    done = subprocess.run(
        ["buildah", *arguments],
        check=True,
        text=True,
        stdout=subprocess.PIPE if output else None,
        env={**ENVIRONMENT, **os.environ},
    )
    return done.stdout if output else ""


def missing(base: str) -> list[str]:
    """Return the programs that a build needs and that are not installed."""
    needed = ["buildah", "mmdebstrap"] if base == "debian" else ["buildah"]
    return [name for name in needed if shutil.which(name) is None]


def has_image(name: str) -> bool:
    """Return whether buildah's storage holds an image."""
    found: list[dict[str, list[str]]] = json.loads(buildah("images", "--json", output=True))
    return any(name in (image.get("names") or ()) for image in found)


def make_base() -> None:
    """Make an image with Debian's Python, under the name of the base image, unless there is one."""
    if has_image(BASE):
        return
    packed = cache_folder() / f"python-{SUITE}.tar"
    if not packed.is_file():
        packed.parent.mkdir(parents=True, exist_ok=True)
        unfinished = packed.with_suffix(f".{os.getpid()}.tar")
        subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=minbase",
                "--include=python3,python3-venv,python3-pip",
                '--aptopt=APT::Install-Recommends "false"',
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                "--dpkgopt=path-exclude=/usr/share/man/*",
                "--dpkgopt=path-exclude=/usr/share/locale/*",
                '--customize-hook=ln -s python3 "$1/usr/bin/python"',
                SUITE,
                str(unfinished),
            ],
            check=True,
        )
        unfinished.rename(packed)
    container = buildah("from", "scratch", output=True).strip()
    try:
        buildah("add", "--quiet", container, str(packed), "/")
        buildah("commit", "--quiet", container, BASE)
    finally:
        buildah("rm", container, output=True)


def secrets() -> list[str]:
    """Return the options that give pip this machine's configuration and certificates."""
    named = [os.environ[name] for name in CERTIFICATES if name in os.environ]
    files = {"pip": PIP_CONFIGURATION, "certificates": Path(named[0]) if named else None}
    return [
        f"--secret=id={key},src={path}" for key, path in files.items() if path and path.is_file()
    ]


def build(base: str, tag: str) -> None:
    """Build the image."""
    if base == "debian":
        make_base()
    buildah(
        "build",
        "--quiet",
        "--network=host",
        "--pull-never" if base == "debian" else "--pull-missing",
        f"--file={DOCKERFILE}",
        f"--ignorefile={DOCKERFILE}.dockerignore",
        f"--build-arg=VERSION={mooring.__version__}",
        f"--tag={tag}",
        *secrets(),
        str(ROOT),
    )


def main() -> int:
    """Build the image that the command line describes; print its name and size."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description="Build the image.")
    parser.add_argument("--base", choices=("pull", "debian"), default="pull")
    parser.add_argument("--tag", default=TAG)
    options = parser.parse_args()
    if absent := missing(options.base):
        print(f"install {' and '.join(absent)}, for example with apt-get install", file=sys.stderr)
        return 1
    try:
        build(options.base, options.tag)
    except subprocess.CalledProcessError as error:
        return error.returncode
    print(f"{options.tag} is built: {size(options.tag) / 1e6:.0f} MB")
    return 0


def size(tag: str) -> int:
    """Return the number of bytes of an image's files."""
    container = buildah("from", "--pull-never", tag, output=True).strip()
    try:
        root = Path(buildah("mount", container, output=True).strip())
        return sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir())
    finally:
        buildah("rm", container, output=True)


if __name__ == "__main__":
    sys.exit(main())
