"""Read the bodies of requests: objects of a resource, and options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mooring.local import conversion, refusals
from mooring.local.exchange import JSON, Request
from mooring.local.patch.options import check_options
from mooring.local.patch.patching import APPLY_PATCH, IGNORE, STRICT, WARN
from mooring.local.resources import Served
from mooring.local.schema import decoding
from mooring.local.schema.canonical import DecodeError
from mooring.local.schema.custom import CustomKind
from mooring.local.schema.structural import decode_custom
from mooring.local.schema.table import Type

Object = dict[str, Any]

PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
BODIES = (JSON, YAML, PROTOBUF)
_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


@dataclass(slots=True)
class Options:
    """Hold what the parameters of a write say, and collect its warnings."""

    dry_run: bool = False
    manager: str = ""
    validation: str = WARN
    force: bool = False
    warnings: list[str] = field(default_factory=list)


def options(request: Request) -> Options:
    """Read the parameters of a write; refuses unknown values."""
    dry_run = request.query.get("dryRun") or []
    validation = request.parameter("fieldValidation")
    manager = request.parameter("fieldManager")
    force = request.flag("force") if "force" in request.query else None
    check_options(
        _KINDS.get(request.method, "CreateOptions"),
        dry_run=dry_run,
        field_manager=manager,
        field_validation=validation,
        force=force,
        applying=media_type(request) == APPLY_PATCH,
    )
    return Options(bool(dry_run), manager, validation or WARN, bool(force))


def media_type(request: Request) -> str:
    """Return the type of a body; JSON where the request does not say."""
    text = request.headers.get("content-type", "")
    return text.partition(";")[0].strip().lower() or JSON


def read_typed(request: Request, type: Type, kind: str, group_version: str, how: Options) -> Object:
    """Read a body that must be of a kind; unknown fields warn or are refused as asked."""
    media = media_type(request)
    if media not in BODIES:
        raise refusals.unsupported_media_type(BODIES)
    try:
        body = decoding.decode_body(request.body, media, type, kind, group_version)
    except DecodeError as error:
        raise refusals.bad_request(str(error)) from None
    take_errors(body.errors, kind, group_version, how)
    return body.object


def take_errors(errors: list[str], kind: str, group_version: str, how: Options) -> None:
    """Refuse or warn about strict errors, as the request asks."""
    if not errors or how.validation == IGNORE:
        return
    if how.validation == STRICT:
        version = group_version.rpartition("/")[2]
        raise refusals.bad_request(decoding.strict_refusal(errors, kind, version))
    how.warnings += errors


def read_object(request: Request, served: Served, how: Options) -> Object:
    """Read a body that must be of a resource's kind, in the form that is stored."""
    if served.custom is not None:
        return _read_custom(request, served, served.custom, how)
    assert served.type is not None
    obj = read_typed(request, served.type, served.kind, served.group_version, how)
    return conversion.to_stored(served, obj)


def _read_custom(request: Request, served: Served, custom: CustomKind, how: Options) -> Object:
    media = media_type(request)
    if media not in (JSON, YAML):
        raise refusals.unsupported_media_type((JSON, YAML))
    try:
        value = decoding.read_body(request.body, media, served.kind)
        obj, errors = decode_custom(custom, value)
    except DecodeError as error:
        raise refusals.bad_request(str(error)) from None
    take_errors(errors, served.kind, served.group_version, how)
    return obj
