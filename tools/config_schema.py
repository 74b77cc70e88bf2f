"""Write a table of the older configuration versions' fields, from the published Go types.

Usage: python -m tools.config_schema > src/mooring/config/convert/schema_table.py
       ruff format src/mooring/config/convert/schema_table.py

Needs Go, which downloads the modules of `SOURCES`: those of the last release that had each version.
Only facts are taken: names of types and fields, and the kinds of their values.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.go_modules import downloaded

# The last published module that has the version, and the modules of types that it uses.
SOURCES = {
    "v1beta3": ("kube-scheduler@v0.28.0/config/v1beta3", "component-base@v0.28.0/config/v1alpha1"),
    "v1beta2": ("kube-scheduler@v0.26.0/config/v1beta2", "component-base@v0.26.0/config/v1alpha1"),
    "v1beta1": (
        "kube-scheduler@v0.22.0/config/v1beta1",
        "kube-scheduler@v0.22.0/config/v1",
        "component-base@v0.22.0/config/v1alpha1",
    ),
    "v1alpha2": (
        "kube-scheduler@v0.18.0/config/v1alpha2",
        "kube-scheduler@v0.18.0/config/v1",
        "component-base@v0.18.0/config/v1alpha1",
    ),
    "v1alpha1": (
        "kube-scheduler@v0.18.0/config/v1alpha1",
        "component-base@v0.18.0/config/v1alpha1",
    ),
    "Policy": ("kube-scheduler@v0.22.0/config/v1",),
}
# What v0.27 added to v1beta2. # kube-scheduler 1.27: apis/config/v1beta2/zz_generated.conversion.go
ADDED = {("v1beta2", "InterPodAffinityArgs"): {"ignorePreferredTermsOfExistingPods": "bool"}}
ROOTS = {"Policy": "Policy"}
ROOT = "KubeSchedulerConfiguration"

STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
STRING_TYPE = re.compile(r"^type (\w+) string$", re.MULTILINE)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`json:"([^",]*)[^"]*"`', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")

KINDS = {
    "metav1.Duration": "duration",
    "time.Duration": "nanoseconds",
    "[]byte": "bytes",
    "runtime.Unknown": "any",
    "runtime.RawExtension": "any",
}
SCALARS = {"string", "bool", "int32", "int64", "float32"}
TYPE_META = {"kind": "string", "apiVersion": "string"}

HEADER = '''"""The fields of the older configuration versions and of the Policy file.

Written by tools/config_schema.py from the published modules k8s.io/kube-scheduler v0.18 to v0.28;
do not edit. Per version and type: the fields as `name:kind`. A kind is a scalar, another type of
the same version, `object` (a type of another API group, checked later) or `any`; `[]` before it
makes it a list.
"""

from __future__ import annotations

TABLE: dict[str, dict[str, str]] = {
'''


def read_types(texts: list[str]) -> dict[str, dict[str, str]]:
    """Return type -> field -> kind; of types with the same name, the first text's counts."""
    structs: dict[str, list[tuple[str, str]]] = {}
    strings: set[str] = set()
    for text in texts:
        bare = COMMENT.sub("", text)
        strings.update(STRING_TYPE.findall(bare))
        for name, body in STRUCT.findall(bare):
            fields = [(kind, key) for _, kind, key in FIELD.findall(body)]
            structs.setdefault(name, fields)

    def fields_of(name: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, key in structs[name]:
            bare = kind.lstrip("*")
            # An embedded struct has no name of its own, whether or not the tag says inline.
            if not key:
                inlined = bare.rpartition(".")[2]
                found |= TYPE_META if inlined == "TypeMeta" else fields_of(inlined)
            else:
                found[key] = kind_of(bare)
        return found

    def kind_of(go: str) -> str:
        if go in KINDS:
            return KINDS[go]
        if go.startswith("[]"):
            return "[]" + kind_of(go[2:].lstrip("*"))
        name = go.rpartition(".")[2]
        if name in SCALARS:
            return name
        if name in strings:
            return "string"
        return name if name in structs and not go.startswith("corev1.") else "object"

    return {name: fields_of(name) for name in structs}


def reachable(types: dict[str, dict[str, str]], roots: list[str]) -> list[str]:
    """Return the types that are reachable from the roots, roots first."""
    order: list[str] = []
    pending = list(roots)
    while pending:
        name = pending.pop(0)
        if name in order or name not in types:
            continue
        order.append(name)
        pending += [kind.removeprefix("[]") for kind in types[name].values()]
    return order


def folder_of(source: str) -> Path:
    """Return the folder of a source, which is `module@version/path`."""
    module, _, path = source.partition("/")
    name, _, version = module.partition("@")
    return downloaded(f"k8s.io/{name}", version) / path


def main() -> int:
    """Print the table module."""
    sys.stdout.write(HEADER)
    for version, folders in SOURCES.items():
        texts = [
            path.read_text(encoding="utf-8")
            for folder in folders
            for path in sorted(folder_of(folder).glob("types*.go"))
        ]
        types = read_types(texts)
        args = sorted(name for name in types if name.endswith("Args"))
        sys.stdout.write(f'    "{version}": {{\n')
        for name in reachable(types, [ROOTS.get(version, ROOT), *args]):
            sys.stdout.write(f'        "{name}": (\n')
            fields = types[name] | ADDED.get((version, name), {})
            words = [f"{field}:{kind}" for field, kind in fields.items()]
            line = ""
            for place, word in enumerate(words):
                last = place == len(words) - 1
                if len(line) + len(word) > 78:
                    sys.stdout.write(f'            "{line}"\n')
                    line = ""
                line += word if last else f"{word} "
            sys.stdout.write(f'            "{line}"\n        ),\n')
        sys.stdout.write("    },\n")
    sys.stdout.write("}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
