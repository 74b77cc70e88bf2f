"""The bodies and query options of write requests, read and checked."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.apiserver import refusals, version_conversion
from mooring.apiserver.http import JSON, ApiRequest
from mooring.apiserver.patch.patch_options import check_options
from mooring.apiserver.patch.patching import APPLY_PATCH, IGNORE, STRICT, WARN
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema import decoding
from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.apiserver.schema.structural import decode_custom
from mooring.controlplane.type_table import StructType

Object = dict[str, Any]

NAMESPACE_MISMATCH = (
    "the namespace of the provided object does not match the namespace sent on the request"
)
PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
BODIES = (JSON, YAML, PROTOBUF)
_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


class WriteOptions(msgspec.Struct):
    """The query parameters of a write request."""

    dry_run: bool = False
    manager: str = ""
    validation: str = WARN
    force: bool = False
    #: The warnings collected for the response.
    warnings: list[str] = msgspec.field(default_factory=list)


def check_namespace(metadata: Object, namespace: str) -> None:
    """Refuse the metadata of an object in another namespace than that of the path."""
    if metadata.get("namespace") and metadata["namespace"] != namespace:
        raise refusals.bad_request(NAMESPACE_MISMATCH)


def options(request: ApiRequest) -> WriteOptions:
    """Return the options in a write request's query; refuse unknown values."""
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
    return WriteOptions(bool(dry_run), manager, validation or WARN, bool(force))


def media_type(request: ApiRequest) -> str:
    """Return the media type of the body; JSON if the request does not say."""
    text = request.headers.get("content-type", "")
    return text.partition(";")[0].strip().lower() or JSON


def read_typed(
    request: ApiRequest, type: StructType, kind: str, group_version: str, how: WriteOptions
) -> Object:
    """Return the body, which must be of a kind.

    Unknown fields are warned about or refused, as `how.validation` says.
    """
    media = media_type(request)
    if media not in BODIES:
        raise refusals.unsupported_media_type(BODIES)
    try:
        body = decoding.decode_body(request.body, media, type, kind, group_version)
    except DecodeError as error:
        raise refusals.bad_request(str(error)) from None
    take_errors(body.errors, kind, group_version, how)
    return body.object


def take_errors(errors: list[str], kind: str, group_version: str, how: WriteOptions) -> None:
    """Refuse strict decoding errors, warn about them or ignore them, as `how.validation` says."""
    if not errors or how.validation == IGNORE:
        return
    if how.validation == STRICT:
        version = group_version.rpartition("/")[2]
        raise refusals.bad_request(decoding.strict_refusal(errors, kind, version))
    how.warnings += errors


def read_object(request: ApiRequest, served: Served, how: WriteOptions) -> Object:
    """Return the body, which must be of the resource's kind, in the stored version."""
    if served.custom is not None:
        return _read_custom(request, served, served.custom, how)
    assert served.type is not None
    obj = read_typed(request, served.type, served.kind, served.group_version, how)
    return version_conversion.to_stored(served, obj)


def _read_custom(
    request: ApiRequest, served: Served, custom: CustomKind, how: WriteOptions
) -> Object:
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
