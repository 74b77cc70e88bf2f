"""Warning headers: messages from an API server to the user."""

# apimachinery: pkg/util/net/http.go (ParseWarningHeaders)

from __future__ import annotations

import re
from collections.abc import Iterator

#: A code, an agent, a quoted text, and an optional quoted date.
_WARNING = re.compile(r'\s*([0-9]{3}) ([^ ]+) "((?:[^"\\]|\\.)*)"\s*(?:"[^"]*"\s*)?(?:,\s*|$)')
_ESCAPED = re.compile(r"\\(.)")


def parse_warnings(header: str) -> Iterator[tuple[int, str]]:
    """Yield the code and text of each warning in a header, up to the first that is malformed.

    >>> list(parse_warnings('299 - "a is deprecated", 299 - "say \\\\"b\\\\""'))
    [(299, 'a is deprecated'), (299, 'say "b"')]
    """
    try:
        # Headers are decoded as Latin-1, but the server writes UTF-8.
        header = header.encode("latin-1").decode()
    except UnicodeError:
        return
    at = 0
    while (found := _WARNING.match(header, at)) is not None:
        text = _ESCAPED.sub(r"\1", found[3])
        if not text.isprintable():
            return
        yield int(found[1]), text
        at = found.end()
