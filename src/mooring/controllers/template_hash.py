"""The hash of a template: the last part of the names of ReplicaSets and revisions."""

# kubernetes: pkg/controller/controller_utils.go, ComputeHash

from __future__ import annotations

import msgspec

from mooring.controllers.controlled_pods import ALPHABET
from mooring.controllers.writer import Object


def template_hash(template: Object, collisions: int | None = None) -> str:
    """Return a hash of a template, in characters that are safe in names.

    Kubernetes hashes Go's dump of the template, so the same template has a different hash there.
    """
    text = msgspec.json.encode(template, order="sorted")
    if collisions is not None:
        text += collisions.to_bytes(8, "little")
    value = 0x811C9DC5
    for byte in text:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    # apimachinery: pkg/util/rand, SafeEncodeString
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))
