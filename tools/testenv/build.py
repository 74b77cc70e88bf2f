"""Build the real parts that tests run against: kube-apiserver, kube-scheduler, kubectl and etcd.

Usage: python tools/testenv/build.py [--env] [--optional] [--jobs N]

Needs Go, which downloads the sources named by go.mod from its configured proxy. The programs are
kept in $MOORING_TESTENV (by default mooring/testenv in the user's cache folder) for all checkouts;
the next run finds them there. --env prints the export lines that name them. With --optional, a
machine without Go is no error, and a failed build only a warning.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KUBERNETES = "v1.36.4"
PACKAGES = (
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-scheduler",
    "k8s.io/kubernetes/cmd/kubectl",
    "./etcd",
)
SCRATCH = ".building-"
# The variable that names each part, to the tests and to the behaviour suite.
PARTS = {
    "KUBE_APISERVER": "kube-apiserver",
    "ETCD": "etcd",
    "KUBE_SCHEDULER": "kube-scheduler",
    "KUBECTL": "kubectl",
}


class Impossible(Exception):
    """The parts cannot be built here."""


def cache_folder() -> Path:
    """Return the folder of built programs, outside every checkout."""
    if chosen := os.environ.get("MOORING_TESTENV"):
        return Path(chosen).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "mooring" / "testenv"


def linker_flags() -> str:
    """Return the flags that set the version, as the release build does."""
    # kubernetes: hack/lib/version.sh. A module does not contain its commit, so the tag is used.
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    values = {
        "gitVersion": KUBERNETES,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": KUBERNETES,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    set_values = [
        f"-X {package}.{key}={value}" for package in packages for key, value in values.items()
    ]
    return " ".join(["-s", "-w", *set_values])


def target() -> Path:
    """Return the folder that the current sources and flags are built into."""
    digest = hashlib.sha256(" ".join([*PACKAGES, linker_flags()]).encode())
    for name in ("go.mod", "go.sum", "etcd/main.go"):
        digest.update((HERE / name).read_bytes())
    system = f"{platform.system()}-{platform.machine()}".lower()
    return cache_folder() / f"{KUBERNETES}-{system}-{digest.hexdigest()[:12]}"


def built() -> dict[str, Path]:
    """Return the variables and paths of the parts; empty if they have not been built."""
    folder = target()
    # The folder is renamed into place when everything in it is complete.
    return {variable: folder / name for variable, name in PARTS.items()} if folder.is_dir() else {}


def count_packages(go: str, environment: dict[str, str]) -> int:
    """Return how many packages the parts consist of; Go downloads the modules meanwhile."""
    print("testenv: downloading the modules", file=sys.stderr)
    command = [go, "list", "-mod=readonly", "-deps", *PACKAGES]
    listed = subprocess.run(command, cwd=HERE, env=environment, stdout=subprocess.PIPE, text=True)
    return len(listed.stdout.splitlines())


def run_showing_progress(command: list[str], environment: dict[str, str], total: int) -> int:
    """Run `go build -v`, which prints each package that it compiles; return its status.

    A terminal shows the number of packages on one line, a log gets a line for every tenth of them.
    """
    on_terminal = sys.stderr.isatty()
    compiled = shown = 0
    process = subprocess.Popen(
        command, cwd=HERE, env=environment, stdout=sys.stderr, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if " " in line.strip() or line.startswith("#"):
            # A message of the compiler, not the name of a package.
            sys.stderr.write(line)
            continue
        compiled += 1
        text = f"testenv: {compiled} of {total} packages compiled"
        if on_terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif compiled * 10 // max(total, 1) > shown:
            shown = compiled * 10 // max(total, 1)
            print(text, file=sys.stderr, flush=True)
    if on_terminal and compiled:
        print(file=sys.stderr)
    return process.wait()


def build(jobs: int) -> None:
    """Build the parts unless they exist; raise Impossible, with one line, if that fails."""
    if built():
        return
    go = shutil.which("go")
    if go is None:
        raise Impossible("Go is not installed, and nothing was built before")
    folder = target()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built():
            return
        for left_over in folder.parent.glob(f"{SCRATCH}*"):
            shutil.rmtree(left_over)
        print(f"testenv: building {', '.join(PARTS.values())}: ten minutes", file=sys.stderr)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=SCRATCH) as scratch:
            output = Path(scratch) / "bin"
            output.mkdir()
            environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
            total = count_packages(go, environment)
            command = ["nice", go, "build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false"]
            command += [f"-p={jobs}", f"-ldflags={linker_flags()}", f"-o={output}/", *PACKAGES]
            status = run_showing_progress(command, environment, total)
            if status != 0:
                raise Impossible(f"go build failed with status {status}")
            output.rename(folder)
        print(f"testenv: built in {time.monotonic() - started:.0f} s", file=sys.stderr)


def main() -> None:
    """Build the parts, and print the export lines if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--env", action="store_true", help="print the export lines")
    parser.add_argument("--jobs", type=int, default=2, help="packages compiled at a time")
    parser.add_argument("--optional", action="store_true", help="exit with 0 whatever happens")
    arguments = parser.parse_args()
    try:
        build(arguments.jobs)
    except Impossible as reason:
        if not arguments.optional:
            sys.exit(f"testenv: {reason}")
        if shutil.which("go"):
            print(f"testenv: {reason}; tests that need it are skipped", file=sys.stderr)
    if not (arguments.env or arguments.optional):
        for variable, path in built().items():
            print(f"testenv: {variable}={path}", file=sys.stderr)
    if arguments.env:
        for variable, path in built().items():
            print(f"export {variable}={shlex.quote(str(path))}")


if __name__ == "__main__":
    main()
