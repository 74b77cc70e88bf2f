"""Write the table of API types that the local API server reads.

It is src/mooring/controlplane/types.txt.

Usage: python3 -m tools.schemas [--release X.Y.Z]

Needs Go, which downloads the modules. Names, types, protobuf numbers and which fields are omitted
if empty come from the Go structs; required fields, list types and merge keys from the published
OpenAPI documents; resources from the published discovery documents. No prose is copied. The
table's header describes its format.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.go_modules import module_folder, release_parser

TARGET = Path(__file__).parent.parent / "src/mooring/controlplane/types.txt"

# Go packages outside k8s.io/api: alias in the table, module of k8s.io and folder in it.
SOURCES = {
    "meta.v1": ("apimachinery", "pkg/apis/meta/v1"),
    "apiextensions.v1": ("apiextensions-apiserver", "pkg/apis/apiextensions/v1"),
    "apiregistration.v1": ("kube-aggregator", "pkg/apis/apiregistration/v1"),
    "metrics.v1beta1": ("metrics", "pkg/apis/metrics/v1beta1"),
}
LEFT_OUT_GROUPS = {"apiserverinternal", "imagepolicy", "extensions"}
GROUPS = {"metrics.v1beta1": "metrics.k8s.io/v1beta1", "meta.v1": "meta.k8s.io/v1"}

# Go types with a special encoding.
SPECIAL = {
    "metav1.Time": "time",
    "metav1.MicroTime": "microTime",
    "metav1.Duration": "duration",
    "metav1.FieldsV1": "fields",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intOrString",
    "runtime.RawExtension": "object",
    "runtime.Object": "object",
    "apiextensions.v1.JSON": "json",
    "apiextensions.v1.JSONSchemaPropsOrArray": "schemaOrArray",
    "apiextensions.v1.JSONSchemaPropsOrBool": "schemaOrBool",
    "apiextensions.v1.JSONSchemaPropsOrStringArray": "schemaOrStrings",
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "microTime",
    "meta.v1.Duration": "duration",
    "meta.v1.FieldsV1": "fields",
}
SCALARS = {"string", "bool", "int32", "int64", "uint64", "float32", "float64"}
ALIASES = {"int": "int32", "[]byte": "bytes", "rune": "int32", "uint32": "int64", "uint8": "int32"}

TYPE_META = "metav1.TypeMeta"
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
EMPTY_STRUCT = re.compile(r"^type (\w+) struct ?\{\}", re.M)
OTHER_TYPE = re.compile(
    r"((?:^//.*\n)*)^type (\w+) (?!struct\b|interface\b|func\b)=? ?(\S.*?)$", re.M
)
FIELD = re.compile(r"^\s+(?:(\w+)\s+)?([*\[\]\w.]+)\s+`(.*?)`", re.M)
JSON_TAG = re.compile(r'json:"([^"]*)"')
PROTO_TAG = re.compile(r'protobuf:"\w+,(\d+),')
IMPORT = re.compile(r'^\s+(\w+)\s+"k8s\.io/(?:api/([\w/]+)|apimachinery/pkg/apis/(meta/v1))"', re.M)

HEADER = """\
# The types of the Kubernetes API, version {minor}.
# Written by tools/schemas.py from the published k8s.io modules; do not edit.
#
# @ALIAS GROUP/VERSION OPENAPI-PREFIX   opens a package
# %PLURAL SINGULAR KIND SCOPE VERBS SHORT-NAMES CATEGORIES HASH   a resource; SCOPE is N or C;
#   KIND may be GROUP/VERSION/KIND; lists are joined by a comma; - is none
# TYPE FLAGS   opens a type; FLAGS: atomic (its fields belong to one owner), wrapped (protobuf
#   wraps the list)
#  NAME KIND NUMBER FLAGS   a field. KIND is a scalar, a type of the package or ALIAS.TYPE, after
#   * (may be null), [] (list of) or {} (map from text to). NAME ~ is a struct whose fields JSON has
#   in place. NUMBER is protobuf's, 0 for none. FLAGS: + always written, ! required, list=TYPE:KEYS,
#   patch=STRATEGY:KEY, map=atomic, default=JSON
"""


@dataclass
class Member:
    """A field of a Go struct."""

    name: str
    kind: str
    number: int
    always: bool
    inline: bool = False


@dataclass
class Package:
    """The types of a Go package."""

    alias: str
    prefix: str
    structs: dict[str, list[Member]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    wrapped: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)


def read_package(alias: str, folder: Path, prefix: str) -> Package:
    """Read the hand-written Go files of a package."""
    package = Package(alias, prefix)
    raw: dict[str, list[tuple[str, str, str]]] = {}
    for path in sorted(folder.glob("*.go")):
        if path.name.startswith(("zz_", "generated")) or path.name.endswith("_test.go"):
            continue
        text = path.read_text(encoding="utf-8")
        for name, group, meta in IMPORT.findall(text):
            package.imports[name] = (group or meta).replace("/", ".")
        for markers, name, target in OTHER_TYPE.findall(text):
            package.named[name] = target.split("//")[0].strip()
            if "+protobuf.nullable=true" in markers:
                package.wrapped.add(name)
        for name, body in STRUCT.findall(text):
            bare = re.sub(r"^\s*//.*\n", "", body, flags=re.M)
            raw[name] = FIELD.findall(bare)
        raw |= {name: [] for name in EMPTY_STRUCT.findall(text)}
    for name, fields in raw.items():
        package.structs[name] = []
        for go_name, go_type, tags in fields:
            package.structs[name] += read_member(package, raw, go_name, go_type, tags)
    return package


def read_member(
    package: Package, structs: dict[str, Any], go_name: str, go_type: str, tags: str
) -> list[Member]:
    """Read one field; a field without a JSON name is embedded."""
    json_tag = JSON_TAG.search(tags)
    number = PROTO_TAG.search(tags)
    at = int(number[1]) if number else 0
    if json_tag is None or json_tag[1] == "-":
        return []
    name, *options = json_tag[1].split(",")
    if go_type == TYPE_META or (go_type == "TypeMeta" and not go_name):
        return [Member("kind", "string", 0, False), Member("apiVersion", "string", 0, False)]
    if not name:
        return [Member("~", resolve(package, structs, go_type), at, True, inline=True)]
    kind = resolve(package, structs, go_type)
    struct = kind[0] not in "*[{" and kind not in SCALARS | {"bytes"}
    always = "omitempty" not in options or struct
    if "omitzero" in options:
        always = False
    return [Member(name, kind, at, always)]


def resolve(package: Package, structs: dict[str, Any], go_type: str) -> str:
    """Return the kind of a Go type as the table spells it."""
    if go_type in ALIASES:
        return ALIASES[go_type]
    if go_type.startswith("*"):
        inner = resolve(package, structs, go_type[1:])
        return inner if inner[0] in "*" else "*" + inner
    if go_type.startswith("[]"):
        return "[]" + resolve(package, structs, go_type[2:]).lstrip("*")
    if go_type.startswith("map["):
        return "{}" + resolve(package, structs, go_type.partition("]")[2]).lstrip("*")
    if go_type in SCALARS:
        return go_type
    local = f"{package.alias}.{go_type}"
    if found := SPECIAL.get(go_type) or SPECIAL.get(local):
        return found
    # Strings of apimachinery's package types, which files import by more than one name.
    if go_type.endswith((".UID", ".NodeName")):
        return "string"
    if "." in go_type:
        name, _, last = go_type.partition(".")
        alias = {"metav1": "meta.v1", "v1": "core.v1"} | package.imports
        # Named types of other packages: a string, or a struct.
        return REFERRED.get(go_type) or f"{alias[name]}.{last}"
    if go_type in package.named and go_type not in structs:
        target = package.named[go_type]
        if go_type in package.wrapped:
            return go_type
        return resolve(package, structs, target)
    return go_type


# Named scalars, lists and maps that fields of another package refer to.
REFERRED = {
    "v1.ResourceList": "{}quantity",
    "corev1.ResourceList": "{}quantity",
    "metav1.LabelSelectorOperator": "string",
    "metav1.ConditionStatus": "string",
}


def named_text(packages: dict[str, Package], kind: str) -> str:
    """Replace a reference to a named scalar of another package by the scalar."""
    marks = re.match(r"(?:\*|\[\]|\{\})*", kind)
    start = marks[0] if marks else ""
    name = kind[len(start) :]
    if "." not in name:
        return kind
    alias, _, last = name.rpartition(".")
    package = packages.get(alias)
    if package is None:
        raise SystemExit(f"unknown package in {kind}")
    if last in package.structs or last in package.wrapped:
        return kind
    return start + resolve(package, package.structs, package.named[last])


def says_more(value: Any, *, pointer: bool) -> bool:
    """Return whether an OpenAPI default differs from the zero value of its type."""
    return value not in ({}, None) if pointer else value not in ("", {}, 0, False, None)


def field_flags(member: Member, schema: dict[str, Any], required: list[str]) -> str:
    """Return the flags of a field, from its OpenAPI schema."""
    flags = ("+" if member.always else "") + ("!" if member.name in required else "")
    words = [flags] if flags else []
    if kind := schema.get("x-kubernetes-list-type"):
        keys = ",".join(schema.get("x-kubernetes-list-map-keys", []))
        words.append(f"list={kind}:{keys}" if keys else f"list={kind}")
    if strategy := schema.get("x-kubernetes-patch-strategy"):
        key = schema.get("x-kubernetes-patch-merge-key", "")
        words.append(f"patch={strategy}:{key}" if key else f"patch={strategy}")
    if kind := schema.get("x-kubernetes-map-type"):
        words.append(f"map={kind}")
    if says_more(schema.get("default"), pointer=member.kind.startswith("*")):
        words.append("default=" + json.dumps(schema["default"], separators=(",", ":")))
    return " ".join(words)


def members(package: Package, name: str, packages: dict[str, Package]) -> list[Member]:
    """Return the fields of a struct as in JSON, with embedded structs replaced by their fields."""
    found = []
    for member in package.structs[name]:
        if member.inline:
            alias, _, last = member.kind.lstrip("*").rpartition(".")
            found += members(packages[alias] if alias else package, last, packages)
        else:
            found.append(member)
    return found


def read_openapi(folder: Path) -> dict[str, Any]:
    """Return every schema of the published documents."""
    schemas: dict[str, Any] = {}
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        schemas |= document.get("components", {}).get("schemas", {})
    return schemas


def reachable(packages: dict[str, Package], roots: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return (package, type) of all types that are reachable from the roots."""
    seen: set[tuple[str, str]] = set()
    pending = list(roots)
    while pending:
        alias, name = pending.pop()
        package = packages[alias]
        if (alias, name) in seen or (name not in package.structs and name not in package.wrapped):
            continue
        seen.add((alias, name))
        for member in package.structs.get(name, ()):
            kind = re.sub(r"^(\*|\[\]|\{\})+", "", member.kind)
            other, _, last = kind.rpartition(".")
            pending.append((other or alias, last))
        if alias == "apiextensions.v1":
            pending.append((alias, "JSONSchemaProps"))
    return seen


def resource_lines(document: dict[str, Any]) -> list[str]:
    """Return the resources of a discovery document."""
    lines = []
    for one in document["resources"]:
        kind = one["kind"]
        if one.get("group") or one.get("version"):
            kind = f"{one.get('group', '')}/{one['version']}/{kind}"
        columns = [
            one["name"],
            one.get("singularName") or "-",
            kind,
            "N" if one["namespaced"] else "C",
            ",".join(one["verbs"]),
            ",".join(one.get("shortNames", [])) or "-",
            ",".join(one.get("categories", [])) or "-",
            one.get("storageVersionHash") or "-",
        ]
        lines.append("%" + " ".join(columns))
    return lines


def main(argv: list[str]) -> int:
    """Write the table."""
    release = release_parser(__doc__).parse_args(argv).release
    packages = {}
    for alias, (module, path) in SOURCES.items():
        prefix = f"io.k8s.{module}.{path.replace('/', '.')}"
        folder = module_folder(f"k8s.io/{module}", release) / path
        packages[alias] = read_package(alias, folder, prefix)
    for folder in sorted(module_folder("k8s.io/api", release).glob("*/v*")):
        group = folder.parent.name
        if group not in LEFT_OUT_GROUPS and (folder / "types.go").exists():
            alias = f"{group}.{folder.name}"
            packages[alias] = read_package(alias, folder, f"io.k8s.api.{alias}")
    for package in packages.values():
        for fields in package.structs.values():
            for member in fields:
                member.kind = named_text(packages, member.kind)
    kubernetes = module_folder("k8s.io/kubernetes", release)
    schemas = read_openapi(kubernetes / "api/openapi-spec/v3")
    discovered = {}
    groups = dict(GROUPS)
    for path in sorted((kubernetes / "api/discovery").glob("api*__*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "groupVersion" in document:
            discovered[document["groupVersion"]] = document
    roots = [("meta.v1", n) for n in ("DeleteOptions", "Status", "WatchEvent", "ListOptions")]
    roots += [("meta.v1", n) for n in ("CreateOptions", "PatchOptions", "UpdateOptions", "Patch")]
    roots += [("metrics.v1beta1", n) for n in packages["metrics.v1beta1"].structs]
    roots += [("core.v1", n) for n in ("Binding", "SerializedReference", "RangeAllocation")]
    for name, schema in schemas.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            prefix, _, last = name.rpartition(".")
            group_version = "/".join(filter(None, [gvk["group"], gvk["version"]]))
            for alias, package in packages.items():
                if package.prefix == prefix and alias != "meta.v1" and group_version in discovered:
                    groups[alias] = group_version
                    roots.append((alias, last))
    wanted = reachable(packages, roots)
    # The header has braces of its own, so it is not a format.
    header = HEADER.replace("{minor}", release.rpartition(".")[0])
    text = header + render(packages, schemas, discovered, groups, wanted)
    TARGET.write_text(text, encoding="utf-8")
    return 0


def render(
    packages: dict[str, Package],
    schemas: dict[str, Any],
    discovered: dict[str, Any],
    groups: dict[str, str],
    wanted: set[tuple[str, str]],
) -> str:
    """Return the table's packages; print types whose fields differ between Go and OpenAPI."""
    lines = []
    for alias, package in sorted(packages.items()):
        names = sorted(name for other, name in wanted if other == alias)
        if not names:
            continue
        lines.append(f"@{alias} {groups.get(alias, '-')} {package.prefix}")
        if document := discovered.get(groups.get(alias, "-")):
            lines += resource_lines(document)
        for name in names:
            lines += render_type(package, name, schemas.get(f"{package.prefix}.{name}"), packages)
    return "\n".join(lines) + "\n"


def render_type(
    package: Package, name: str, schema: dict[str, Any] | None, packages: dict[str, Package]
) -> list[str]:
    """Return the lines of one type."""
    if name in package.wrapped:
        target = resolve(package, package.structs, package.named[name])
        return [f"{name} wrapped", f" items {target} 1 +"]
    properties = (schema or {}).get("properties", {})
    required = (schema or {}).get("required", [])
    here = {member.name for member in members(package, name, packages)}
    if schema is not None and here != set(properties):
        print(f"{package.alias}.{name}: {here ^ set(properties)}", file=sys.stderr)
    flags = " atomic" if (schema or {}).get("x-kubernetes-map-type") == "atomic" else ""
    lines = [f"{name}{flags}"]
    for member in package.structs[name]:
        words = [member.name, member.kind, str(member.number)]
        extra = (
            "" if member.inline else field_flags(member, properties.get(member.name, {}), required)
        )
        lines.append(" " + " ".join(filter(None, [*words, extra])))
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
