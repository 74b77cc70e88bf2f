"""Dynamic resources: claims, templates, slices, device classes. Their insides stay plain."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.meta import TypedObject


class ResourceClaim(TypedObject, frozen=True, kw_only=True):
    """Be a claim for devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaim"

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class ResourceClaimTemplate(TypedObject, frozen=True, kw_only=True):
    """Be a template that claims are made from."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaimTemplate"

    spec: dict[str, Any] = {}


class ResourceSlice(TypedObject, frozen=True, kw_only=True):
    """Report devices that a driver offers."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceSlice"

    spec: dict[str, Any] = {}


class DeviceClass(TypedObject, frozen=True, kw_only=True):
    """Be a class of devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceClass"

    spec: dict[str, Any] = {}
