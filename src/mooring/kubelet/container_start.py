"""ContainerStart: what the first process of a container does, sent to it through a pipe.

Variables are not given to the interpreter itself, whose start they could change, and their values
are not shown to other users of this machine, as those of a command line are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import msgspec

#: Variables that make an interpreter, the loader or a library load code, start a program or write
#: a file.
_OBEYED = re.compile(
    "(PYTHON|LD_|DYLD_|GLIBC_|MALLOC_|GCONV_|OPENSSL_|SSLKEYLOG|NUMPY_|NPY_|COVERAGE_|COV_CORE_"
    "|PROMETHEUS_MULTIPROC|GIT_|PERL5|RUBY|NODE_OPTIONS|JAVA_TOOL|XDG_|BASH_|DASK_).*"
    "|PATH|HOME|TMPDIR|TEMP|TMP|ENV|IFS|SHELL|SHELLOPTS|PS4|LOCPATH|NLSPATH|HOSTALIASES|BROWSER"
    "|EDITOR|VISUAL|PAGER",
    re.IGNORECASE,
)
_END = b"\n"
_CHUNK = 64 * 1024


class ContainerStart(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `mooring`, the variables, the working directory and the plugins."""

    words: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    #: The only plugins that it may load; None if it may load what its arguments name.
    plugins: tuple[str, ...] | None = None

    def encode(self) -> bytes:
        """Return the bytes to write to the pipe."""
        return msgspec.json.encode(self) + _END


def read_start(pipe: int) -> ContainerStart:
    """Read what `encode` returned; raise EOFError if the parent has ended."""
    data = b""
    while not data.endswith(_END):
        piece = os.read(pipe, _CHUNK)
        if not piece:
            raise EOFError("the local cluster has ended")
        data += piece
    return msgspec.json.decode(data, type=ContainerStart)


def without_obeyed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that no interpreter, loader or library acts upon by itself."""
    return {name: value for name, value in environment.items() if not _OBEYED.fullmatch(name)}
