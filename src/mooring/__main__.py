"""`python -m mooring`: the `mooring` command."""

from __future__ import annotations

import sys

from mooring.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
