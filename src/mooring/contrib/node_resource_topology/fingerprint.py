"""The fingerprint of the pods of a node: a hash of their namespaces and names, in any order."""

# podfingerprint: podfingerprint.go; xxHash: doc/xxhash_spec.md (XXH64)

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "pfp0"
VERSION = "v001"
#: The attribute of a NodeResourceTopology that holds the fingerprint, and how it was made.
ATTRIBUTE = "nodeTopologyPodsFingerprint"
METHOD_ATTRIBUTE = "nodeTopologyPodsFingerprintMethod"
EXCLUSIVE_METHOD = "with-exclusive-resources"
#: The annotation that older agents use instead.
ANNOTATION = "topology.node.k8s.io/fingerprint"

_MASK = 2**64 - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of pods, given by namespace and name."""
    hashes = sorted(xxh64(name.encode(), xxh64(namespace.encode())) for namespace, name in pods)
    total = xxh64(b"".join(one.to_bytes(8, "little") for one in hashes))
    return f"{PREFIX}{VERSION}{total:016x}"


def xxh64(data: bytes, seed: int = 0) -> int:
    """Return the 64-bit xxHash of data.

    >>> hex(xxh64(b""))
    '0xef46db3751d8e999'
    """
    length = len(data)
    at = 0
    if length >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while at + 32 <= length:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], _word(data, at + 8 * lane, 8))
            at += 32
        total = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = (seed + _P5) & _MASK
    total = (total + length) & _MASK
    while at + 8 <= length:
        total ^= _round(0, _word(data, at, 8))
        total = (_rotate(total, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= length:
        total ^= (_word(data, at, 4) * _P1) & _MASK
        total = (_rotate(total, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total ^= (byte * _P5) & _MASK
        total = (_rotate(total, 11) * _P1) & _MASK
    total = ((total ^ (total >> 33)) * _P2) & _MASK
    total = ((total ^ (total >> 29)) * _P3) & _MASK
    return total ^ (total >> 32)


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _rotate(number: int, by: int) -> int:
    return ((number << by) | (number >> (64 - by))) & _MASK


def _round(lane: int, word: int) -> int:
    return (_rotate((lane + word * _P2) & _MASK, 31) * _P1) & _MASK
