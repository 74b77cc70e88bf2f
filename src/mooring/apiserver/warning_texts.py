"""The texts of Warning headers: each once, and no more than clients can be expected to read."""

# apiserver: pkg/endpoints/filters/warning.go

from __future__ import annotations

from collections.abc import Iterable

#: Above this many characters in all, each text is cut, and no text is added once it is reached.
_TOTAL = 4096
_ITEM = 256


def cut(texts: Iterable[str]) -> list[str]:
    """Return the texts to send; `texts` is read no further than needed."""
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
