"""The Dockerfile, read as text; test_image.py builds it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.deploy.deployed import manifests

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Return instruction and arguments of every line, continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    found = []
    for line in filter(str.strip, joined.splitlines()):
        name, _, rest = line.strip().partition(" ")
        found.append((name, " ".join(rest.split())))
    return found


def of(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


def test_only_known_instructions_are_used() -> None:
    known = {
        "FROM",
        "ARG",
        "LABEL",
        "WORKDIR",
        "COPY",
        "RUN",
        "ENV",
        "USER",
        "EXPOSE",
        "ENTRYPOINT",
    }
    assert {name for name, _ in instructions()} <= known
    assert "://" not in DOCKERFILE.read_text()


def test_the_image_is_made_of_the_plain_slim_image() -> None:
    assert of("FROM") == ["python:3.11-slim AS build", "python:3.11-slim AS runtime", "scratch"]


def test_everything_fetched_has_its_hash_checked() -> None:
    fetching = [
        command
        for run in of("RUN")
        for command in run.split(" && ")
        if re.search(r"pip (install|download|wheel)", command) and "--no-index" not in command
    ]
    assert len(fetching) == 1
    assert "--require-hashes" in fetching[0]
    assert "--no-deps" in fetching[0]
    assert fetching[0].endswith("--requirement requirements.lock")
    assert not re.search(r"apt-get|curl|wget", " ".join(of("RUN")))


def test_the_context_has_what_is_copied_and_nothing_else() -> None:
    ignored = (DOCKERFILE.with_name("Dockerfile.dockerignore")).read_text().split()
    assert ignored[0] == "*"
    kept = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for copy in of("COPY")
        if not copy.startswith("--from=")
        for source in copy.split()[:-1]
    }
    assert copied == kept
    assert [source for source in copied if not (ROOT / source).exists()] == []


def test_the_image_runs_as_nobody_in_particular() -> None:
    last_stage = instructions()[instructions().index(("FROM", "scratch")) :]
    deployment = next(one for one in manifests() if one["kind"] == "Deployment")
    context = deployment["spec"]["template"]["spec"]["securityContext"]
    assert ("USER", f"{context['runAsUser']}:{context['runAsGroup']}") in last_stage


def test_the_entry_point_is_the_command_of_the_manifests() -> None:
    (entry,) = of("ENTRYPOINT")
    deployment = next(one for one in manifests() if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert json.loads(entry) == container["command"]
    scripts = (ROOT / "pyproject.toml").read_text()
    assert f'{json.loads(entry)[0]} = "mooring.cli.run:main"' in scripts
