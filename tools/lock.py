"""Renew requirements.lock: every core and development dependency, pinned, with hashes.

Run `python3 tools/lock.py` to add new dependencies of pyproject.toml and keep the other pins, or
`python3 tools/lock.py --upgrade` to move every pin to the newest release. One lock serves every
supported Python and platform; if versions differ, markers choose. Downloads come from the index
that pip is configured to use, and the file does not name it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
HEADER = "# Written by tools/lock.py; `make venv` installs it with --require-hashes.\n"
# An address, or an option such as an index.
PLACE = re.compile(r"://|^\s*-(?!-hash=)", re.MULTILINE)


def compile_lock(arguments: list[str]) -> str:
    """Resolve pyproject.toml in a temporary environment, starting from the current pins."""
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(Path(scratch) / "venv", with_pip=True)
        binaries = Path(scratch) / "venv" / "bin"
        subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        output = Path(scratch) / "requirements.lock"
        if LOCK.exists():
            output.write_text(LOCK.read_text())
        command = [binaries / "uv", "pip", "compile", "pyproject.toml", "--group", "dev"]
        command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header"]
        command += ["--native-tls", "--quiet", "--output-file", output, *arguments]
        subprocess.run(command, check=True, cwd=ROOT)
        return output.read_text()


def main() -> int:
    """Write the lock; refuse if it names a place to download from."""
    lock = compile_lock(sys.argv[1:])
    if found := PLACE.search(lock):
        line = lock.count("\n", 0, found.start()) + 1
        print(f"requirements.lock:{line}: names a place to download from", file=sys.stderr)
        return 1
    LOCK.write_text(HEADER + lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
