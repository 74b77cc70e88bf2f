"""Field errors: what is wrong with a value, worded as Kubernetes' own validation does."""

# kube-scheduler: apimachinery pkg/util/validation/field/errors.go, pkg/api/validate/content

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from mooring.framework.duration import Duration

_LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_LABEL_KEY_TEXT = (
    f"{_LABEL_KEY_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_LABEL_KEY}')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    f"  or '12345', regex used for validation is '({_LABEL_KEY})?')"
)
_LABEL_KEY_LIMIT = 63
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_SUBDOMAIN_LIMIT = 253

#: Integers of the sizes that Go has, for the fields of arguments.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class FieldError(msgspec.Struct, frozen=True):
    """A problem at one path, such as `profiles[0].schedulerName`."""

    path: str
    message: str
    #: What to do about it; "" if the message says enough.
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@lru_cache(maxsize=1024)
def struct_fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a Struct. Cached: msgspec evaluates all annotations on each call."""
    return msgspec.structs.fields(kind)


def child(path: str, *names: str) -> str:
    """Return the path of a field below `path`."""
    return ".".join(part for part in (path, *names) if part)


def invalid(path: str, value: object, detail: str) -> FieldError:
    """Return the error for a value that breaks a rule."""
    return FieldError(path, _join(f"Invalid value: {show(value)}", detail))


def required(path: str, detail: str = "") -> FieldError:
    """Return the error for a missing value."""
    return FieldError(path, _join("Required value", detail))


def forbidden(path: str, detail: str) -> FieldError:
    """Return the error for a value that must not be set."""
    return FieldError(path, _join("Forbidden", detail))


def duplicate(path: str, value: object) -> FieldError:
    """Return the error for a value that appeared before."""
    return FieldError(path, f"Duplicate value: {show(value)}")


def not_supported(path: str, value: object, supported: Iterable[str]) -> FieldError:
    """Return the error for a value that is not one of a fixed set."""
    values = ", ".join(show(one) for one in supported)
    return FieldError(path, f"Unsupported value: {show(value)}: supported values: {values}")


def show(value: object) -> str:
    """Return a value as errors print it: strings quoted, everything else as compact JSON."""
    if isinstance(value, str | Duration):
        value = str(value)
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)


def label_name_errors(name: str) -> list[str]:
    """Return what is wrong with a label key (or a qualified name); empty if it is valid."""
    errors: list[str] = []
    parts = name.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_LABEL_KEY_TEXT}"
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {text}" for text in _subdomain_errors(parts[0])]
    if not parts[-1]:
        errors.append("name part must be non-empty")
    elif len(parts[-1].encode()) > _LABEL_KEY_LIMIT:
        errors.append(f"name part must be no more than {_LABEL_KEY_LIMIT} bytes")
    if not re.fullmatch(_LABEL_KEY, parts[-1]):
        errors.append(f"name part {_LABEL_KEY_TEXT}")
    return errors


def label_value_errors(value: str) -> list[str]:
    """Return what is wrong with a label value; empty if it is valid."""
    errors = []
    if len(value.encode()) > _LABEL_KEY_LIMIT:
        errors.append(f"must be no more than {_LABEL_KEY_LIMIT} bytes")
    if not re.fullmatch(f"({_LABEL_KEY})?", value):
        errors.append(_LABEL_VALUE_TEXT)
    return errors


def check_label_name(path: str, name: str) -> list[FieldError]:
    """Return the field errors of a label key."""
    return [invalid(path, name, text) for text in label_name_errors(name)]


def _subdomain_errors(value: str) -> list[str]:
    errors = []
    if len(value.encode()) > _SUBDOMAIN_LIMIT:
        errors.append(f"must be no more than {_SUBDOMAIN_LIMIT} bytes")
    if not re.fullmatch(_SUBDOMAIN, value):
        errors.append(_SUBDOMAIN_TEXT)
    return errors


def _join(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)
