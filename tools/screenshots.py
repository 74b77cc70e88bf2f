"""Draw the terminal pictures of the documentation: python -m tools.screenshots

Each picture shows commands and what they really print. The commands run in a temporary folder with
a copy of examples/; those of a local cluster need kubectl.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
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
}

_CHARACTER, _LINE, _MARGIN = 8.4, 19, 16
_STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;"
    "white-space:pre}.command{fill:#a3be8c;font-weight:bold}"
)


def run(commands: tuple[tuple[str, bool], ...]) -> list[tuple[str, bool]]:
    """Run commands, and return the lines of the picture, each with whether it is a command."""
    lines: list[tuple[str, bool]] = []
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "examples", Path(scratch) / "examples")
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(Path(scratch) / ".mooring" / "kubeconfig"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        for command, shown in commands:
            done = subprocess.run(
                command, shell=True, cwd=scratch, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stderr}")
            if shown:
                lines.append((f"$ {command}", True))
                lines += [(line, False) for line in done.stdout.rstrip("\n").split("\n")]
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


def main() -> int:
    """Draw every picture."""
    IMAGES.mkdir(exist_ok=True)
    for name, commands in PICTURES.items():
        (IMAGES / name).write_text(draw(run(commands)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
