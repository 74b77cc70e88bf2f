"""The first process of a container that the local cluster runs; not a command for users."""

from __future__ import annotations

import os
import signal
import sys
import threading

from mooring.cli.main import main

#: How many seconds the process has to end after the local cluster is gone.
_GRACE = 5.0


def follow_parent(grace: float = _GRACE) -> None:
    """End this process when its parent ends, for whatever reason; kill it after `grace` seconds.

    Standard input is a pipe from the parent; the kernel closes it even if the parent is killed.
    """
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(grace)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=follow_parent, name="parent", daemon=True).start()
    sys.exit(main())
