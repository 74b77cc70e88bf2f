"""The hooks of the documentation site: pages from outside docs/, and pages made from the code.

A link to a page of the repository leads to its page on the site. A link to another file of the
repository becomes its path as text, because the site does not hold that file. Pictures are files of
docs/, which the site holds, so only the way to them changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site import commands, config_fields, metrics

ROOT = Path(__file__).resolve().parents[2]
#: Pages of the repository outside docs/, and their names on the site.
OUTSIDE = {
    "README.md": "first-plugin.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "examples/README.md": "examples.md",
    "examples/gang-scheduling/README.md": "examples/gang-scheduling.md",
    "examples/elastic-quotas/README.md": "examples/elastic-quotas.md",
    "examples/numa-alignment/README.md": "examples/numa-alignment.md",
    "examples/load-aware/README.md": "examples/load-aware.md",
    "deploy/README.md": "deploy.md",
}
#: Pages made from the code.
MADE: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands.commands_page,
    "reference/flags.md": commands.flags_page,
    "reference/configuration-fields.md": config_fields.page,
    "reference/metrics.md": metrics.page,
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#]*)(#[^)]*)?\)")
#: The words of a fence that only the tests of the documentation read.
_FENCE = re.compile(r"^```console [^\n]*$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    for name, make in MADE.items():
        files.append(File.generated(config, name, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return the page with the links and fences that the site understands."""
    name = page.file.src_uri
    source = next((path for path, site in OUTSIDE.items() if site == name), f"docs/{name}")
    folder = PurePosixPath(source).parent

    def follow(link: re.Match[str]) -> str:
        picture, text, target, anchor = link[1], link[2], link[3], link[4] or ""
        found = os.path.normpath(folder / target)
        if found in OUTSIDE:
            to = OUTSIDE[found]
        elif found.startswith("docs/") and (picture or found.endswith(".md")):
            to = found.removeprefix("docs/")
        elif picture:
            # mkdocs reports that the site does not hold it.
            return link[0]
        else:
            return text if "`" in text else f"{text} (`{found}`)"
        relative = os.path.relpath(to, PurePosixPath(name).parent)
        return f"{picture}[{text}]({relative}{anchor})"

    return _FENCE.sub("```console", _LINK.sub(follow, markdown))
