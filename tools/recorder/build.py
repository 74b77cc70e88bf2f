"""Build the recorder with the scheduler of a Kubernetes release, into the cache of tools/testenv.

Needs Go. The program's go.mod is written here, from the requirements that the published module of
the release states, so that a new release needs no change.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.go_modules import KUBERNETES, go, module_folder, staging, tag
from tools.testenv.build import cache_folder

HERE = Path(__file__).resolve().parent
# Lines of a go.mod that matter to a module that requires what the module requires.
LANGUAGE = re.compile(r"^(?:go|godebug) .*$", re.MULTILINE)
REQUIREMENT = re.compile(r"^\t(\S+) (v\S+)(?: //.*)?$", re.MULTILINE)
STAGED = "v0.0.0"
#: The real parts of a release that `build_parts` builds.
PARTS = ("kube-apiserver", "kube-scheduler", "kubectl")


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
    published = module_folder(KUBERNETES, release) / "go.mod"
    cache = target(release).parent
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".recorder-") as scratch:
        folder = Path(scratch)
        for path in HERE.glob("*.go"):
            shutil.copy(path, folder)
        text = module_file(published.read_text(encoding="utf-8"), release)
        (folder / "go.mod").write_text(text, encoding="utf-8")
        yield folder
