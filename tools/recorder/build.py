"""Build the recorder with the scheduler of a Kubernetes release, into the cache of tools/testenv.

Needs Go. The program's go.mod is written here, from the requirements that the published module of
the release states, so that a new release needs no change.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.testenv.build import cache_folder

HERE = Path(__file__).resolve().parent
KUBERNETES = "k8s.io/kubernetes"
RELEASE = re.compile(r"v?(1)\.(\d+)\.(\d+)")
# Lines of a go.mod that matter to a module that requires what the module requires.
LANGUAGE = re.compile(r"^(?:go|godebug) .*$", re.MULTILINE)
REQUIREMENT = re.compile(r"^\t(\S+) (v\S+)(?: //.*)?$", re.MULTILINE)
STAGED = "v0.0.0"
#: The real parts of a release that `build_parts` builds.
PARTS = ("kube-apiserver", "kube-scheduler", "kubectl")


class Impossible(Exception):
    """The recorder of a release cannot be built here."""


def tag(release: str) -> str:
    """Return the tag of a release: 1.37.1 and v1.37.1 are both v1.37.1."""
    found = RELEASE.fullmatch(release)
    if found is None:
        raise Impossible(f"{release!r} is not a release such as v1.37.1")
    return "v" + ".".join(found.groups())


def staging(release: str) -> str:
    """Return the version of the staging modules of a release: v0.37.1 for v1.37.1."""
    return "v0" + tag(release).removeprefix("v1")


def module_file(published: str, release: str) -> str:
    """Return the go.mod of the recorder, given that of k8s.io/kubernetes.

    A published module ignores its own `replace` lines, which name the staging modules beside it.
    """
    block = published[: published.find("\nreplace (")]
    required = dict(REQUIREMENT.findall(block))
    staged = [name for name, version in required.items() if version == STAGED]
    lines = ["module recorder", *LANGUAGE.findall(block), "require ("]
    lines += [f"\t{KUBERNETES} {tag(release)}"]
    lines += [f"\t{name} {version}" for name, version in required.items()]
    lines += [")", "replace ("]
    lines += [f"\t{name} => {name} {staging(release)}" for name in staged]
    return "\n".join([*lines, ")", ""])


def go(*arguments: str, folder: Path | None = None) -> str:
    """Run a Go command and return its output; raise Impossible if it fails."""
    program = shutil.which("go")
    if program is None:
        raise Impossible("Go is not installed")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        [program, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        # Of `go mod download -json`, the reason is part of the output.
        said = re.search(r'"Error": "(.*)"', done.stdout)
        reason = f": {said.group(1)}" if said else ""
        raise Impossible(f"go {arguments[0]} failed with status {done.returncode}{reason}")
    return done.stdout


def download(module: str) -> Path:
    """Return the folder of a module in Go's module cache, downloaded if it is not there."""
    with tempfile.TemporaryDirectory() as nowhere:
        # Not in a checkout, whose go.mod would choose another version.
        return Path(json.loads(go("mod", "download", "-json", module, folder=Path(nowhere)))["Dir"])


def target(release: str) -> Path:
    """Return the path of the recorder of a release, whether or not it has been built."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(HERE.glob("*.go")):
        digest.update(path.read_bytes())
    system = f"{platform.system()}-{platform.machine()}".lower()
    return cache_folder() / f"recorder-{tag(release)}-{system}-{digest.hexdigest()[:12]}"


def build(release: str, jobs: int = 2) -> Path:
    """Build the recorder of a release unless it exists, and return its path."""
    program = target(release)
    if not program.is_file():
        with module(release) as folder:
            print(f"recorder: building with {tag(release)}, some minutes once", file=sys.stderr)
            output = folder / "recorder"
            go("build", *flags(jobs), f"-o={output}", ".", folder=folder)
            # Rename at the end, so that the file only appears complete.
            output.rename(program)
    return program


def build_parts(release: str, jobs: int = 2) -> list[Path]:
    """Build the real parts of a release, beside its recorder, and return their paths."""
    folder = target(release).with_name(f"parts-{tag(release)}")
    if not folder.is_dir():
        with module(release) as sources:
            print(f"recorder: building the parts of {tag(release)}: ten minutes", file=sys.stderr)
            output = sources / "bin"
            output.mkdir()
            packages = [f"{KUBERNETES}/cmd/{name}" for name in PARTS]
            go("build", *flags(jobs), f"-o={output}/", *packages, folder=sources)
            output.rename(folder)
    return [folder / name for name in PARTS]


def flags(jobs: int) -> list[str]:
    """Return the flags of `go build`."""
    return ["-trimpath", "-buildvcs=false", "-ldflags=-s -w", f"-p={jobs}"]


@contextmanager
def module(release: str) -> Iterator[Path]:
    """Yield a folder with the recorder's sources and the go.mod of a release."""
    published = download(f"{KUBERNETES}@{tag(release)}") / "go.mod"
    cache = target(release).parent
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".recorder-") as scratch:
        folder = Path(scratch)
        for path in HERE.glob("*.go"):
            shutil.copy(path, folder)
        text = module_file(published.read_text(encoding="utf-8"), release)
        (folder / "go.mod").write_text(text, encoding="utf-8")
        yield folder
