"""Who may use the page: the user who was given its address, and pages of the same origin.

Any program of the machine can reach a port on loopback, and any web page can make the user's
browser send requests to it. The address therefore holds a random token, which the first request
exchanges for a cookie that other sites cannot use; the Host must be ours, because a foreign name
may be made to resolve to loopback; and a request that a page of another origin makes is refused.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping

LOOPBACK = "127.0.0.1"
#: The parameter of the address that is printed.
PARAMETER = "token"

#: Sent with every response. Trusted types make the browser refuse HTML from strings.
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

WRONG_HOST = "This server answers only to the address that `mooring ui` printed."
WRONG_ORIGIN = "Requests from pages of other origins are refused."
NO_COOKIE = "Open the address that `mooring ui` printed: it holds the token."
WRONG_TOKEN = "The token is not that of the address that `mooring ui` printed last: open that one."


class PageAccess:
    """The token of one session on one port."""

    def __init__(self, port: int, token: str = "") -> None:
        self._token = token or secrets.token_urlsafe(32)
        # Browsers send a cookie to all ports of a host, so sessions differ by name.
        self.cookie_name = f"mooring-ui-{port}"
        # Not the token itself: what a browser keeps cannot be used in an address.
        self._cookie = hmac.new(self._token.encode(), b"cookie", "sha256").hexdigest()
        self._hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")
        self.url = f"http://{LOOPBACK}:{port}/?{PARAMETER}={self._token}"

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Return why a request is refused because of where it comes from; empty if it is not."""
        host = headers.get("Host", "")
        if host not in self._hosts:
            return WRONG_HOST
        origin = headers.get("Origin")
        # "none": the user typed or clicked the address outside of any page.
        site = headers.get("Sec-Fetch-Site", "none")
        if origin not in (None, f"http://{host}") or site not in ("none", "same-origin"):
            return WRONG_ORIGIN
        return ""

    def is_token(self, text: str) -> bool:
        """Return whether a text is the token."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token.encode())

    def is_cookie(self, text: str) -> bool:
        """Return whether a text is the value of the cookie."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._cookie.encode())

    @property
    def cookie(self) -> str:
        """Return the value of Set-Cookie. It is forgotten when the browser ends."""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
