"""Make the pictures of the documentation: python -m tools.screenshots [NAME ...]

Each picture of a terminal shows commands and what they really print. The commands run in a
temporary folder with a copy of examples/; those of a local cluster need kubectl. The pictures of
the page are taken with Chromium.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

#: The commands of each picture, each with whether the picture shows it.
PICTURES: dict[str, tuple[tuple[str, bool], ...]] = {
    "schedule.svg": (("mooring schedule -f examples/quickstart", True),),
    "up.svg": (
        (
            "mooring up --detach -f examples/sample/cluster.yaml"
            " --plugin mooring.contrib.samples:Sample",
            True,
        ),
        ("kubectl create deployment web --image=nginx", True),
        (
            "kubectl wait pod -l app=web --for=condition=PodScheduled=false --timeout=30s",
            False,
        ),
        ("kubectl get pods", True),
        ("kubectl label nodes node1 cpu=true", True),
        ("kubectl wait pod -l app=web --for=condition=Ready --timeout=30s", False),
        ("kubectl get pods -o wide", True),
        ("mooring down", True),
    ),
    "explain.svg": (
        ("mooring up --detach --nodes 3", False),
        (
            "kubectl run train --image=busybox"
            """ --overrides '{"spec": {"nodeSelector": {"disk": "ssd"}}}'""",
            True,
        ),
        ("kubectl wait pod train --for=condition=PodScheduled=false --timeout=30s", False),
        ("mooring explain train", True),
        ("mooring down", False),
    ),
}
#: A pod that waits for another one.
_NEAR_DATA = (
    '{"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": '
    '[{"labelSelector": {"matchLabels": {"run": "data"}}, "topologyKey": "kubernetes.io/os"}]}}}}'
)
#: The commands before the pictures of the page.
PAGE_COMMANDS = (
    "mooring up --detach --nodes 30",
    "kubectl create deployment web --image=nginx --replicas=40",
    "kubectl set resources deployment web --requests=cpu=1500m,memory=3Gi",
    "kubectl rollout status deployment web --timeout=60s",
    "kubectl create deployment batch --image=busybox --replicas=11",
    "kubectl set resources deployment batch --requests=cpu=4,memory=16Gi",
    "kubectl rollout status deployment batch --timeout=60s",
    "kubectl cordon node-7 node-19",
    f"kubectl run train --image=busybox --overrides '{_NEAR_DATA}'",
    "kubectl wait pod train --for=condition=PodScheduled=false --timeout=30s",
    "kubectl run data --image=postgres",
    "kubectl wait pod train --for=condition=PodScheduled --timeout=30s",
)
#: The view of each picture, an element that it must have, and its height.
PAGE_PICTURES = {
    "page-nodes.png": ("nodes", "canvas", 770),
    "page-pod.png": ("pod/default/train", "#scores", 1240),
}
_WIDTH = 1280

_CHARACTER, _LINE, _MARGIN = 8.4, 19, 16
_STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;"
    "white-space:pre}.command{fill:#a3be8c;font-weight:bold}"
)


@contextlib.contextmanager
def workplace() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a folder with a copy of examples/, and the environment for commands in it."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "examples", Path(scratch) / "examples")
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(Path(scratch) / ".mooring" / "kubeconfig"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        yield Path(scratch), environment


def execute(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what a command prints; end the program if it fails."""
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def run(commands: tuple[tuple[str, bool], ...]) -> list[tuple[str, bool]]:
    """Run commands, and return the lines of the picture, each with whether it is a command."""
    lines: list[tuple[str, bool]] = []
    with workplace() as (scratch, environment):
        for command, shown in commands:
            printed = execute(command, scratch, environment)
            if shown:
                lines.append((f"$ {command}", True))
                lines += [(line, False) for line in printed.rstrip("\n").split("\n")]
    return lines


def draw(lines: list[tuple[str, bool]]) -> str:
    """Return a picture of a terminal as SVG."""
    columns = max(len(text) for text, _ in lines)
    width = round(columns * _CHARACTER + 2 * _MARGIN)
    height = len(lines) * _LINE + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="A terminal">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#2e3440"/>',
    ]
    for number, (text, is_command) in enumerate(lines):
        kind = ' class="command"' if is_command else ""
        y = _MARGIN + (number + 1) * _LINE - 5
        parts.append(f'<text x="{_MARGIN}" y="{y}"{kind}>{html.escape(text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def text_of(picture: str) -> list[str]:
    """Return the lines that a picture shows."""
    return [html.unescape(found) for found in re.findall(r"<text[^>]*>(.*)</text>", picture)]


def photograph(names: Sequence[str]) -> None:
    """Take pictures of the page about a local cluster."""
    with workplace() as (scratch, environment):
        try:
            for command in PAGE_COMMANDS:
                execute(command, scratch, environment)
            page = subprocess.Popen(
                ["mooring", "ui", "--no-browser"],
                cwd=scratch,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            try:
                assert page.stdout is not None
                url = next(line.strip() for line in page.stdout if "?token=" in line)
                _visit(url, names)
            finally:
                page.terminate()
                page.wait()
        finally:
            execute("mooring down", scratch, environment)


def _visit(url: str, names: Sequence[str]) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        tab = browser.new_page(color_scheme="light")
        tab.goto(url)
        tab.get_by_text("live", exact=True).wait_for()
        for name in names:
            view, wanted, height = PAGE_PICTURES[name]
            tab.set_viewport_size({"width": _WIDTH, "height": height})
            tab.goto(f"{url.partition('?')[0]}#/{view}")
            tab.locator(wanted).wait_for()
            tab.screenshot(path=IMAGES / name)
        browser.close()


def main(wanted: Sequence[str]) -> int:
    """Make the pictures with these names, or all of them."""
    names = wanted or (*PICTURES, *PAGE_PICTURES)
    if unknown := set(names) - {*PICTURES, *PAGE_PICTURES}:
        raise SystemExit(f"there is no picture {', '.join(sorted(unknown))}")
    IMAGES.mkdir(exist_ok=True)
    for name, commands in PICTURES.items():
        if name in names:
            (IMAGES / name).write_text(draw(run(commands)))
    if pages := [name for name in PAGE_PICTURES if name in names]:
        photograph(pages)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
