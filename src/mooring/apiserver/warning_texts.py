"""The texts of Warning headers, without duplicates and within kube-apiserver's size limits."""

# apiserver: pkg/endpoints/filters/warning.go

from __future__ import annotations

from collections.abc import Iterable

#: If all texts together are longer, each is cut to _ITEM, and none is added above this total.
_TOTAL = 4096
_ITEM = 256


def cut(texts: Iterable[str]) -> list[str]:
    """Return the texts to send; consume no more of `texts` than needed."""
    ordered: dict[str, None] = {}
    written = 0
    truncating = False
    for text in texts:
        if truncating and written >= _TOTAL:
            break
        if not text or text in ordered:
            continue
        ordered[text] = None
        if truncating:
            written += min(len(text), _ITEM)
        elif written + len(text) <= _TOTAL:
            written += len(text)
        else:
            truncating = True
            written = sum(min(len(one), _ITEM) for one in ordered)
    return [text[:_ITEM] if truncating else text for text in ordered]
