from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.apiserver.validation import formats
from mooring.apiserver.validation.formats import (
    CONFIG_KEY,
    HTTP_HEADER,
    LABEL,
    LABEL_1035,
    NO_DOTS,
    PERCENT,
    PORT_RANGE,
    RELAXED_SUBDOMAIN,
    VALID_CIDR,
    VALID_IP,
    WILDCARD_SUBDOMAIN,
    cidr_problems,
    config_key_problems,
    environment_name_problems,
    host_problems,
    http_header_problems,
    ip_problems,
    label_1035_problems,
    label_problems,
    max_length,
    path_segment_problems,
    percent_problems,
    port_name_problems,
    port_problems,
    relaxed_subdomain_problems,
    wildcard_problems,
)

_ENVIRONMENT = (
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='"
)
_LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
_MULTICAST = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
_LETTERS = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
_A_LETTER = "must contain at least one letter (a-z)"

TEXTS: dict[str, tuple[Callable[[str], list[str]], str, list[str]]] = {
    "a label": (label_problems, "my-name-1", []),
    "a label may begin with a digit": (label_problems, "1a", []),
    "a label of 63 characters": (label_problems, "a" * 63, []),
    "a label of 64 characters": (label_problems, "a" * 64, [max_length(63)]),
    "a label in upper case": (label_problems, "A", [LABEL]),
    "a label that ends in a hyphen": (label_problems, "a-", [LABEL]),
    "an empty label": (label_problems, "", [LABEL]),
    "a subdomain is no label": (label_problems, "a.b", [NO_DOTS]),
    "a label with a final newline": (label_problems, "a\n", [LABEL]),
    "a DNS-1035 label": (label_1035_problems, "a-1", []),
    "a DNS-1035 label begins with a letter": (label_1035_problems, "1a", [LABEL_1035]),
    "a long DNS-1035 label": (label_1035_problems, "a" * 64, [max_length(63)]),
    "a config key": (config_key_problems, "KEY_name.1-a", []),
    "an empty config key": (config_key_problems, "", [CONFIG_KEY]),
    "a config key with a space": (config_key_problems, "a b", [CONFIG_KEY]),
    "a long config key": (config_key_problems, "a" * 254, [max_length(253)]),
    "the current directory is no config key": (config_key_problems, ".", ["must not be '.'"]),
    "the parent directory is no config key": (config_key_problems, "..", ["must not be '..'"]),
    "a config key with two leading dots": (
        config_key_problems,
        "..a",
        ["must not start with '..'"],
    ),
    "a variable": (environment_name_problems, "a b-C.1", []),
    "an empty variable": (
        environment_name_problems,
        "",
        ["environment variable name must be non-empty"],
    ),
    "a variable with an equals sign": (environment_name_problems, "a=b", [_ENVIRONMENT]),
    "a variable beyond ASCII": (environment_name_problems, "é", [_ENVIRONMENT]),
    "a header": (http_header_problems, "X-Header-1", []),
    "a header with an underscore": (http_header_problems, "a_b", [HTTP_HEADER]),
    "a port's name": (port_name_problems, "http-1", []),
    "a port's name of 15 characters": (port_name_problems, "a" * 15, []),
    "a long name of a port": (
        port_name_problems,
        "a" * 16,
        ["must be no more than 15 characters"],
    ),
    "a port's name in upper case": (port_name_problems, "Ab", [_LETTERS]),
    "a number is no name of a port": (port_name_problems, "80", [_A_LETTER]),
    "an empty name of a port": (port_name_problems, "", [_LETTERS, _A_LETTER]),
    "a port's name with two hyphens": (
        port_name_problems,
        "a--b",
        ["must not contain consecutive hyphens"],
    ),
    "a port's name that begins with a hyphen": (
        port_name_problems,
        "-a",
        ["must not begin or end with a hyphen"],
    ),
    "a percentage": (percent_problems, "93%", []),
    "a negative percentage": (percent_problems, "-1%", [PERCENT]),
    "a number without a percent sign": (percent_problems, "93", [PERCENT]),
    "a path segment": (path_segment_problems, "system:a b", []),
    "the current directory is no segment": (path_segment_problems, ".", ["may not be '.'"]),
    "the parent directory is no segment": (path_segment_problems, "..", ["may not be '..'"]),
    "a segment with two bad characters": (
        path_segment_problems,
        "a/b%c",
        ["may not contain '/'", "may not contain '%'"],
    ),
    "a search path may have underscores": (relaxed_subdomain_problems, "_a.b_c", []),
    "a search path in upper case": (relaxed_subdomain_problems, "A", [RELAXED_SUBDOMAIN]),
    "a long search path": (relaxed_subdomain_problems, "a" * 254, [max_length(253)]),
    "a host": (wildcard_problems, "a.b", []),
    "hosts of a domain": (wildcard_problems, "*.a.b", []),
    "a wildcard of part of a name": (wildcard_problems, "a*.b", [WILDCARD_SUBDOMAIN]),
    "a wildcard alone": (wildcard_problems, "*", [WILDCARD_SUBDOMAIN]),
    "hosts of a long domain": (wildcard_problems, "*." + "a" * 252, [max_length(253)]),
    "an IPv4 CIDR": (cidr_problems, "10.0.0.1/8", []),
    "an IPv6 CIDR": (cidr_problems, "2001:db8::/64", []),
    "an address without a length is no CIDR": (cidr_problems, "10.0.0.0", [VALID_CIDR]),
    "a CIDR with too long a prefix": (cidr_problems, "10.0.0.0/33", [VALID_CIDR]),
    "a name is no CIDR": (cidr_problems, "net/8", [VALID_CIDR]),
    "an IPv4 address": (ip_problems, "10.9.8.7", []),
    "an IPv6 address": (ip_problems, "2001:db8::ffff", []),
    "an address with leading zeros": (ip_problems, "010.9.8.7", [VALID_IP]),
    "a name is no address": (ip_problems, "a", [VALID_IP]),
    "an ordinary address of a host": (host_problems, "10.9.8.7", []),
    "the unspecified address": (host_problems, "0.0.0.0", ["may not be unspecified (0.0.0.0)"]),
    "a loopback address": (host_problems, "127.0.0.1", [_LOOPBACK]),
    "a link-local address": (host_problems, "fe80::1", [_LINK_LOCAL]),
    "a link-local multicast address": (host_problems, "224.0.0.1", [_MULTICAST]),
    "a link-local multicast address of IPv6": (host_problems, "ff02::1", [_MULTICAST]),
}


@pytest.mark.parametrize(("check", "text", "expected"), TEXTS.values(), ids=TEXTS)
def test_texts(check: Callable[[str], list[str]], text: str, expected: list[str]) -> None:
    assert check(text) == expected


@pytest.mark.parametrize("port", [1, 65535])
def test_ports(port: int) -> None:
    assert port_problems(port) == []


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_numbers_that_are_not_ports(port: int) -> None:
    assert port_problems(port) == [PORT_RANGE]


def test_a_prefix_of_a_name_may_be_a_dot() -> None:
    assert path_segment_problems(".", prefix=True) == []
    assert path_segment_problems("a/", prefix=True) == ["may not contain '/'"]


def test_the_message_of_a_range_names_its_ends() -> None:
    assert formats.between(1, 5) == "must be between 1 and 5, inclusive"
