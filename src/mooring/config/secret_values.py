"""Secrets of a configuration, which logs and journals leave out."""

from __future__ import annotations

from typing import Any

from mooring.errors import safe_url

#: Stands for a value that is left out.
LEFT_OUT = "(left out)"

#: How the names of fields end whose texts are secrets, in lower case.
_SECRETS = (
    "accesskey",
    "apikey",
    "credentials",
    "keydata",
    "passphrase",
    "password",
    "privatekey",
    "secret",
    "token",
)
#: How the names of fields end that hold an address, in lower case.
_ADDRESSES = ("address", "prefix", "server", "url")


def without_secrets(value: Any, field: str = "") -> Any:
    """Return a value of a configuration without secrets; `field` is its name.

    Addresses lose users, passwords and the values of their queries.
    """
    if isinstance(value, dict):
        return {key: without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, field) for each in value]
    if not isinstance(value, str) or not value:
        return value
    name = field.lower()
    if name.endswith(_SECRETS):
        return LEFT_OUT
    if "://" in value or ("@" in value and name.endswith(_ADDRESSES)):
        return safe_url(value)
    return value
