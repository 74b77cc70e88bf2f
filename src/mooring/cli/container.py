"""The first process of a container that the local cluster runs; not a command for people."""

from __future__ import annotations

import os
import signal
import sys
import threading

from mooring.cli.main import main

#: Seconds to end in once the local cluster is gone.
_GRACE = 5.0


def follow_parent() -> None:
    """End with whoever started this process, however that ends.

    Standard input is a pipe from there: it closes, by the kernel's hand if need be.
    """
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=follow_parent, name="parent", daemon=True).start()
    sys.exit(main())
