"""The annotations of a Lease by which its holder says where it answers about its decisions.

Other holders, kube-scheduler among them, keep the annotations that they find. So the annotations
name the process that wrote them, and say nothing if another one holds the Lease.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from mooring.api.events import Lease

HOLDER = "mooring.dev/explain-holder"
PORT = "mooring.dev/explain-port"
CERTIFICATE = "mooring.dev/explain-certificate-sha256"

_PORT = re.compile(r"[1-9][0-9]{0,4}")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class ExplainAddress(msgspec.Struct, frozen=True):
    """Where the holder of a Lease answers, and by which certificate it is known."""

    #: The identity of the process, as in the Lease: its host's name, "_" and a UUID.
    holder: str
    port: int
    #: The SHA-256 of the serving certificate, in lower-case hexadecimal.
    certificate_sha256: str

    @property
    def host(self) -> str:
        """Return the host's name: that of the pod, or of the node whose network the pod shares."""
        return self.holder.rpartition("_")[0] or self.holder


def annotated(annotations: Mapping[str, str], address: ExplainAddress | None) -> dict[str, str]:
    """Return annotations with those of an address, in place of those of an earlier holder."""
    kept = {
        key: value for key, value in annotations.items() if key not in (HOLDER, PORT, CERTIFICATE)
    }
    if address is None:
        return kept
    return {
        **kept,
        HOLDER: address.holder,
        PORT: str(address.port),
        CERTIFICATE: address.certificate_sha256,
    }


def read_address(lease: Lease) -> ExplainAddress | None:
    """Return where the holder of a Lease answers; None if it is no Mooring, or does not say."""
    found = lease.metadata.annotations
    holder, port = found.get(HOLDER, ""), found.get(PORT, "")
    fingerprint = read_fingerprint(found.get(CERTIFICATE, ""))
    if not holder or holder != lease.spec.holder_identity or not fingerprint:
        return None
    if not (_PORT.fullmatch(port) and int(port) < 2**16):
        return None
    return ExplainAddress(holder, int(port), fingerprint)


def read_fingerprint(text: str) -> str:
    """Return a SHA-256 in lower-case hexadecimal without colons; empty if the text is none.

    >>> read_fingerprint("AB:" * 31 + "AB") == "ab" * 32, read_fingerprint("abc")
    (True, '')
    """
    plain = text.replace(":", "").lower()
    return plain if _FINGERPRINT.fullmatch(plain) else ""
