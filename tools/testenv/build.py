"""Build the real parts that tests run against: kube-apiserver, kube-scheduler, kubectl and etcd.

Usage: python tools/testenv/build.py [--release X.Y.Z] [--env] [--optional] [--jobs N]

Needs Go, which downloads the sources named by the go.mod of each release from its configured
proxy. The programs are kept in $MOORING_TESTENV (by default mooring/testenv in the user's cache
folder) for all checkouts; the next run finds them there. Without --release, every release is built,
the newest first; those after it compile only the packages that differ. etcd is built once.

--env prints the export lines of one release, by default the reference; only that one is built. With
--optional, a machine without Go is no error, and a failed build only a warning.
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
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
#: The releases that Mooring supports, and the folder of the Go module of each; the newest first.
RELEASES = {"1.37.1": "v1.37", "1.36.4": "v1.36"}
#: The release that tests run against unless they name another one.
REFERENCE = "1.37.1"
#: The oldest supported release.
OLDEST = "1.36.4"
# The module that etcd is built from: that of the newest release, with which it shares packages.
ETCD_MODULE = "v1.37"
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


class Programs(NamedTuple):
    """Programs that are built together, into one folder of the cache."""

    #: What the programs are built of: a release, or etcd.
    name: str
    #: The folder of the Go module.
    module: Path
    packages: tuple[str, ...]
    linker_flags: str

    @property
    def folder(self) -> Path:
        """The folder that the current sources and flags are built into."""
        digest = hashlib.sha256(" ".join([*self.packages, self.linker_flags]).encode())
        ours = [f"{package}/main.go" for package in self.packages if package.startswith("./")]
        for name in ("go.mod", "go.sum", *ours):
            digest.update((self.module / name).read_bytes())
        system = f"{platform.system()}-{platform.machine()}".lower()
        return cache_folder() / f"{self.name}-{system}-{digest.hexdigest()[:12]}"

    @property
    def files(self) -> list[str]:
        """The file names of the programs."""
        return [package.rpartition("/")[2] for package in self.packages]

    @property
    def are_built(self) -> bool:
        """True if the programs exist."""
        # The folder is renamed into place when everything in it is complete.
        return self.folder.is_dir()


def minor(release: str) -> str:
    """Return the minor version of a release: 1.36 of 1.36.4."""
    return release.rpartition(".")[0]


def kubernetes(release: str) -> Programs:
    """Return the programs of a Kubernetes release, which know their version."""
    # kubernetes: hack/lib/version.sh. A module does not contain its commit, so the tag is used.
    tag = f"v{release}"
    values = {
        "gitVersion": tag,
        "gitMajor": minor(release).partition(".")[0],
        "gitMinor": minor(release).partition(".")[2],
        "gitCommit": tag,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    set_values = [
        f"-X {package}.{key}={value}" for package in packages for key, value in values.items()
    ]
    return Programs(
        name=tag,
        module=HERE / RELEASES[release],
        packages=tuple(
            f"k8s.io/kubernetes/cmd/{name}" for name in PARTS.values() if name != "etcd"
        ),
        linker_flags=" ".join(["-s", "-w", *set_values]),
    )


def etcd() -> Programs:
    """Return etcd, which serves every release."""
    return Programs("etcd", HERE / ETCD_MODULE, ("./etcd",), "-s -w")


def built(release: str) -> dict[str, Path]:
    """Return the variables and paths of a release's parts; empty if they have not been built."""
    groups = (kubernetes(release), etcd())
    if not all(programs.are_built for programs in groups):
        return {}
    found = {file: programs.folder / file for programs in groups for file in programs.files}
    return {variable: found[file] for variable, file in PARTS.items()}


def exports(release: str) -> dict[str, str]:
    """Return the variables that name a release's parts; empty if they have not been built.

    BEHAVE_RELEASE says to the behaviour suite which release's texts to expect.
    """
    found = {variable: str(path) for variable, path in built(release).items()}
    return {**found, "BEHAVE_RELEASE": minor(release)} if found else {}


def count_packages(go: str, programs: Programs, environment: dict[str, str]) -> int:
    """Return how many packages the programs consist of; Go downloads the modules meanwhile."""
    print("testenv: downloading the modules", file=sys.stderr)
    command = [go, "list", "-mod=readonly", "-deps", *programs.packages]
    listed = subprocess.run(
        command, cwd=programs.module, env=environment, stdout=subprocess.PIPE, text=True
    )
    return len(listed.stdout.splitlines())


def run_showing_progress(
    command: list[str], module: Path, environment: dict[str, str], total: int
) -> int:
    """Run `go build -v`, which prints each package that it compiles; return its status.

    A terminal shows the number of packages on one line, a log gets a line for every tenth of them.
    """
    on_terminal = sys.stderr.isatty()
    compiled = shown = 0
    process = subprocess.Popen(
        command, cwd=module, env=environment, stdout=sys.stderr, stderr=subprocess.PIPE, text=True
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


def build(programs: Programs, jobs: int) -> None:
    """Build programs unless they exist; raise Impossible, with one line, if that fails."""
    if programs.are_built:
        return
    go = shutil.which("go")
    if go is None:
        raise Impossible("Go is not installed, and nothing was built before")
    folder = programs.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if programs.are_built:
            return
        for left_over in folder.parent.glob(f"{SCRATCH}*"):
            shutil.rmtree(left_over)
        what = ", ".join(programs.files)
        print(f"testenv: building {what} ({folder.name}): up to ten minutes", file=sys.stderr)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=SCRATCH) as scratch:
            output = Path(scratch) / "bin"
            output.mkdir()
            environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
            total = count_packages(go, programs, environment)
            command = ["nice", go, "build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false"]
            command += [f"-p={jobs}", f"-ldflags={programs.linker_flags}", f"-o={output}/"]
            command += programs.packages
            status = run_showing_progress(command, programs.module, environment, total)
            if status != 0:
                raise Impossible(f"go build failed with status {status}")
            output.rename(folder)
        print(f"testenv: built in {time.monotonic() - started:.0f} s", file=sys.stderr)


def known_release(text: str) -> str:
    """Return the release that a user names: 1.36.4, v1.36.4 or 1.36."""
    for release in RELEASES:
        if text.removeprefix("v") in (release, minor(release)):
            return release
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(RELEASES)}")


def main() -> None:
    """Build the parts, and print the export lines if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--release", type=known_release, help="the release to build")
    parser.add_argument("--env", action="store_true", help="print the export lines")
    parser.add_argument("--jobs", type=int, default=2, help="packages compiled at a time")
    parser.add_argument("--optional", action="store_true", help="exit with 0 whatever happens")
    arguments = parser.parse_args()
    releases = [arguments.release or REFERENCE]
    if not (arguments.release or arguments.env):
        releases = list(RELEASES)
    try:
        for programs in (*map(kubernetes, releases), etcd()):
            build(programs, arguments.jobs)
    except Impossible as reason:
        if not arguments.optional:
            sys.exit(f"testenv: {reason}")
        if shutil.which("go"):
            print(f"testenv: {reason}; tests that need it are skipped", file=sys.stderr)
    for release in releases:
        for variable, value in exports(release).items():
            if arguments.env:
                print(f"export {variable}={shlex.quote(value)}")
            elif not arguments.optional:
                print(f"testenv: {variable}={value}", file=sys.stderr)


if __name__ == "__main__":
    main()
