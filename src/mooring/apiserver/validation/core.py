"""The core group's smaller kinds: configuration, secrets, namespaces, endpoints."""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from mooring.api.field_errors import (
    FieldError,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.apiserver.validation.field_problems import Object, immutable, non_negative
from mooring.apiserver.validation.formats import (
    config_key_problems,
    ip_problems,
    label_key_problems,
    label_problems,
    port_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import NOT_QUALIFIED
from mooring.apiserver.validation.pods import check_template

FROZEN = "field is immutable when `immutable` is set"
_SECRET_MAX = 1024 * 1024
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def check_config_map(config: Object) -> list[FieldError]:
    """Check the keys and the size of a ConfigMap."""
    problems: list[FieldError] = []
    binary, size = config.get("binaryData") or {}, 0
    for key, value in (config.get("data") or {}).items():
        problems += each(f"data[{key}]", key, config_key_problems(key))
        if key in binary:
            why = "duplicate of key present in binaryData"
            problems.append(invalid(f"data[{key}]", key, why))
        size += len(value.encode())
    for key, value in binary.items():
        problems += each(f"binaryData[{key}]", key, config_key_problems(key))
        size += len(value) * 3 // 4
    if size > _SECRET_MAX:
        # The API server prints its empty path like this.
        problems.append(too_long("[]", _SECRET_MAX))
    return problems


def check_config_map_update(config: Object, old: Object) -> list[FieldError]:
    """Check an update of a ConfigMap."""
    return _frozen(config, old, ("data", "binaryData")) + check_config_map(config)


def _frozen(new: Object, old: Object, fields: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    problems = [] if new.get("immutable") else [forbidden("immutable", FROZEN)]
    return problems + [forbidden(f, FROZEN) for f in fields if new.get(f) != old.get(f)]


def check_secret(secret: Object) -> list[FieldError]:
    """Check the keys of a secret, including those that its type requires."""
    problems: list[FieldError] = []
    data: Mapping[str, str] = secret.get("data") or {}
    for key in data:
        problems += each(f"data[{key}]", key, config_key_problems(key))
    if sum(len(value) * 3 // 4 for value in data.values()) > _SECRET_MAX:
        problems.append(too_long("data", _SECRET_MAX))
    kind = secret.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT):
            problems.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        problems += [required("data[username]"), required("data[password]")]
    for key in _NEEDED.get(kind, ()):
        if key not in data:
            problems.append(required(f"data[{key}]"))
        elif kind.startswith("kubernetes.io/docker") and (why := _not_json(data[key])):
            problems.append(invalid(f"data[{key}]", "<secret contents redacted>", why))
    return problems


def _not_json(text: str) -> str:
    raw = base64.b64decode(text).decode("utf-8", "replace")
    try:
        json.loads(raw)
    except ValueError:
        if not raw:
            return "unexpected end of JSON input"
        return f"invalid character '{raw[0]}' looking for beginning of value"
    return ""


def check_secret_update(secret: Object, old: Object) -> list[FieldError]:
    """Check an update of a secret."""
    problems = immutable("type", secret.get("type", ""), old.get("type", ""))
    return problems + _frozen(secret, old, ("data",)) + check_secret(secret)


def check_namespace(namespace: Object) -> list[FieldError]:
    """Check the finalizers of a namespace."""
    problems: list[FieldError] = []
    for name in namespace["spec"].get("finalizers") or ():
        problems += each("spec.finalizers", name, label_key_problems(name))
        if "/" not in name and name != "kubernetes":
            problems.append(invalid("spec.finalizers", name, NOT_QUALIFIED))
    return problems


def check_namespace_finalizers(namespace: Object, old: Object) -> list[FieldError]:
    """Check an update of a namespace's finalizers."""
    return [
        invalid(f"spec.finalizers[{i}]", name, NOT_QUALIFIED)
        for i, name in enumerate(namespace["spec"].get("finalizers") or ())
        if "/" not in name and name != "kubernetes"
    ]


def check_replication_controller(controller: Object) -> list[FieldError]:
    """Check a replication controller."""
    spec = controller["spec"]
    problems = non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        problems.append(required("spec.selector"))
    problems += non_negative("spec.replicas", spec.get("replicas"))
    if template is None:
        return [*problems, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if selector and any((labels or {}).get(key) != value for key, value in selector.items()):
        why = "`selector` does not match template `labels`"
        problems.append(invalid("spec.template.metadata.labels", labels, why))
    problems += check_template(template, "spec.template")
    if template["spec"].get("restartPolicy") != "Always":
        given = template["spec"].get("restartPolicy")
        problems.append(not_supported("spec.template.spec.restartPolicy", given, ("Always",)))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in ReplicationController is not Supported"
        problems.append(forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return problems


def check_endpoints(endpoints: Object) -> list[FieldError]:
    """Check endpoints."""
    problems: list[FieldError] = []
    for i, subset in enumerate(endpoints.get("subsets") or ()):
        where = f"subsets[{i}]"
        if not (subset.get("addresses") or subset.get("notReadyAddresses")):
            why = "must specify `addresses` or `notReadyAddresses`"
            problems.append(required(where, why))
        for field in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(field) or ()):
                place = f"{where}.{field}[{j}].ip"
                if whys := ip_problems(address["ip"]):
                    problems += each(place, address["ip"], [*whys, "must be a valid IP address"])
                place = place.removesuffix(".ip")
                if name := address.get("hostname"):
                    problems += each(f"{place}.hostname", name, label_problems(name))
                if (node := address.get("nodeName")) is not None:
                    problems += each(f"{place}.nodeName", node, subdomain_problems(node))
        ports = subset.get("ports") or []
        for j, port in enumerate(ports):
            place = f"{where}.ports[{j}]"
            name = port.get("name")
            if name:
                problems += each(f"{place}.name", name, label_problems(name))
            elif len(ports) > 1:
                problems.append(required(f"{place}.name"))
            problems += each(f"{place}.port", port["port"], port_problems(port["port"]))
            if port.get("protocol") not in ("SCTP", "TCP", "UDP"):
                supported = ("SCTP", "TCP", "UDP")
                problems.append(not_supported(f"{place}.protocol", port.get("protocol"), supported))
            if (protocol := port.get("appProtocol")) is not None:
                problems += each(f"{place}.appProtocol", protocol, label_key_problems(protocol))
    return problems


def check_namespace_status(namespace: Object, old: Object) -> list[FieldError]:
    """Check that the phase of a namespace is Terminating if, and only if, it is being deleted."""
    deleted = bool(namespace["metadata"].get("deletionTimestamp"))
    phase, wanted = (namespace.get("status") or {}).get("phase") or "", "Active"
    how = "empty"
    if deleted:
        wanted, how = "Terminating", "not empty"
    if phase == wanted:
        return []
    why = f"may only be '{wanted}' if `deletionTimestamp` is {how}"
    return [invalid("status.Phase", phase, why)]
