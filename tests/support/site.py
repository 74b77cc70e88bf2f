"""The documentation site, built for tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tools.site import hooks

_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]+\)")


def build_site(folder: Path) -> Path:
    """Build the site into a folder, with every warning as an error; return the folder."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=hooks.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


def pages_with_pictures() -> dict[str, int]:
    """Return the files of the site that have pictures, with the number of pictures of each."""
    names = dict(hooks.OUTSIDE)
    docs = hooks.ROOT / "docs"
    for path in docs.rglob("*.md"):
        name = path.relative_to(docs)
        names[f"docs/{name}"] = str(name)
    counts = {
        name: len(_PICTURE.findall((hooks.ROOT / path).read_text())) for path, name in names.items()
    }
    return {_file_of(name): count for name, count in counts.items() if count}


def _file_of(name: str) -> str:
    """Return the file that holds a page, which has a folder of its own unless it is an index."""
    page = name.removesuffix(".md")
    return f"{page}.html" if Path(page).name == "index" else f"{page}/index.html"
