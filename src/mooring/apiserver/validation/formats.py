"""The formats of DNS labels, ports, paths and keys: each function returns why a text is invalid.

An empty list means that it is valid.
"""

# apimachinery: pkg/util/validation/validation.go, pkg/api/validate/content

from __future__ import annotations

import ipaddress
import re

from mooring.api.names import label_key_problems, label_value_problems, subdomain_problems

__all__ = [
    "label_key_problems",
    "label_value_problems",
    "subdomain_problems",
]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_HTTP_HEADER = re.compile(r"[-A-Za-z0-9]+", re.ASCII)
_RELAXED = re.compile(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_WILDCARD = re.compile(
    r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_LINK_LOCAL_MULTICAST = tuple(map(ipaddress.ip_network, ("224.0.0.0/24", "ff02::/16")))
_PERCENT = re.compile(r"[0-9]+%", re.ASCII)
_PORT_CHARACTERS = re.compile(r"[-a-z0-9]+", re.ASCII)

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', "
    " or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
HTTP_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
CASELESS_SUBDOMAIN = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
RELAXED_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' "
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
WILDCARD_SUBDOMAIN = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character (e.g. '*.example.com', regex used for validation is "
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
NO_DOTS = "must not contain dots"
PORT_RANGE = "must be between 1 and 65535, inclusive"
VALID_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
VALID_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def max_length(limit: int) -> str:
    """Return the message for a text that is too long."""
    return f"must be no more than {limit} characters"


def host_problems(address: str) -> list[str]:
    """Return why an address is special (loopback, link-local…) and cannot be a host's."""
    # kubernetes: pkg/apis/core/validation/validation.go, ValidateNonSpecialIP
    parsed = ipaddress.ip_address(address)
    problems: list[str] = []
    if parsed.is_unspecified:
        problems.append(f"may not be unspecified ({address})")
    if parsed.is_loopback:
        problems.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        problems.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if any(parsed in network for network in _LINK_LOCAL_MULTICAST):
        problems.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return problems


def between(low: int, high: int) -> str:
    """Return the message for a number outside of a range."""
    return f"must be between {low} and {high}, inclusive"


def label_problems(text: str) -> list[str]:
    """Return why a text is not a DNS label (RFC 1123)."""
    problems = [max_length(63)] if len(text.encode()) > 63 else []
    if _LABEL.fullmatch(text) is None:
        problems.append(LABEL if subdomain_problems(text) else NO_DOTS)
    return problems


def label_1035_problems(text: str) -> list[str]:
    """Return why a text is not a DNS label (RFC 1035), the format of service names."""
    problems = [max_length(63)] if len(text.encode()) > 63 else []
    if _LABEL_1035.fullmatch(text) is None:
        problems.append(LABEL_1035)
    return problems


def config_key_problems(text: str) -> list[str]:
    """Return why a text is not a key of a ConfigMap or Secret."""
    problems = [max_length(253)] if len(text.encode()) > 253 else []
    if _CONFIG_KEY.fullmatch(text) is None:
        problems.append(CONFIG_KEY)
    return problems + _change_directory(text)


def _change_directory(text: str) -> list[str]:
    if text == ".":
        return ["must not be '.'"]
    if text == "..":
        return ["must not be '..'"]
    return ["must not start with '..'"] if text.startswith("..") else []


def environment_name_problems(text: str) -> list[str]:
    """Return why a text is not the name of an environment variable."""
    if not text:
        return ["environment variable name must be non-empty"]
    if any(not " " <= c <= "~" or c == "=" for c in text):
        return [
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='"
        ]
    return []


def http_header_problems(text: str) -> list[str]:
    """Return why a text is not the name of an HTTP header."""
    return [] if _HTTP_HEADER.fullmatch(text) else [HTTP_HEADER]


def port_problems(port: int) -> list[str]:
    """Return why a number is not a port."""
    return [] if 1 <= port <= 65535 else [PORT_RANGE]


def port_name_problems(name: str) -> list[str]:
    """Return why a text is not the name of a port."""
    problems = ["must be no more than 15 characters"] if len(name) > 15 else []
    if _PORT_CHARACTERS.fullmatch(name) is None:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if re.search("[a-z]", name) is None:
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def percent_problems(text: str) -> list[str]:
    """Return why a text is not a percentage."""
    return [] if _PERCENT.fullmatch(text) else [PERCENT]


def path_segment_problems(text: str, *, prefix: bool = False) -> list[str]:
    """Return why a text is not a single path segment, the format of role names."""
    if not prefix and text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in text]


def caseless_subdomain_problems(text: str) -> list[str]:
    """Return why a text is not a DNS subdomain in upper or lower case; empty if it is."""
    problems = subdomain_problems(text.lower())
    return [CASELESS_SUBDOMAIN if "RFC 1123" in problem else problem for problem in problems]


def relaxed_subdomain_problems(text: str) -> list[str]:
    """Return why a text is not a DNS subdomain; underscores are allowed, as in search paths."""
    problems = [max_length(253)] if len(text.encode()) > 253 else []
    return problems if _RELAXED.fullmatch(text) else [*problems, RELAXED_SUBDOMAIN]


def wildcard_problems(text: str) -> list[str]:
    """Return why a text is not a DNS subdomain; its first part may be a wildcard."""
    if "*" not in text:
        return subdomain_problems(text)
    problems = [max_length(253)] if len(text.encode()) > 253 else []
    return problems if _WILDCARD.fullmatch(text) else [*problems, WILDCARD_SUBDOMAIN]


def cidr_problems(text: str) -> list[str]:
    """Return why a text is not a CIDR."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [VALID_CIDR]
    return [] if "/" in text else [VALID_CIDR]


def ip_problems(text: str) -> list[str]:
    """Return why a text is not an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return [VALID_IP]
    return []
