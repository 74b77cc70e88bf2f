"""YAML read the way Kubernetes reads it, remembering where everything stood.

Kubernetes turns YAML into JSON: dates stay text, numbers in base 60 do not exist, keys are text,
and a key may stand in a map only once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from mooring.errors import ObjectError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DROPPED = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"}
_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
# YAML 1.1's forms without base 60 ("1:30"), which Kubernetes reads as text.
_INT_FORM = re.compile(r"[-+]?(?:0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)\Z")
_FLOAT_FORM = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)
# A text without aliases has fewer values than characters; this is what aliases may make of it.
_MAX_VALUES_PER_CHARACTER = 10
_MAX_VALUES_ANYWAY = 100_000


def _resolvers() -> dict[Any, list[tuple[str, re.Pattern[str]]]]:
    forms = {_INT: _INT_FORM, _FLOAT: _FLOAT_FORM}
    return {
        first: [(tag, forms.get(tag, form)) for tag, form in rules if tag not in _DROPPED]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _KubernetesLoader(_Loader):  # type: ignore[misc, valid-type]
    """Load YAML as Kubernetes does."""

    yaml_implicit_resolvers = _resolvers()

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise ObjectError("a key must be text", line=_line(key_node))
            if key_node.value in seen and key_node.tag != "tag:yaml.org,2002:merge":
                raise ObjectError(f"key {key_node.value!r} stands here twice", line=_line(key_node))
            seen.add(key_node.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if all(key.__class__ is str for key in mapping):
            return mapping
        return {_key_text(key, node): value for key, value in mapping.items()}


def _key_text(key: Any, node: yaml.Node) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(key)
    raise ObjectError(f"a key must be text, got {key!r}", line=_line(node))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class YamlDocument:
    """Hold one YAML document: its value, and the nodes that know its lines."""

    __slots__ = ("_node", "number", "value")

    def __init__(self, node: yaml.Node, value: Any, number: int) -> None:
        self._node = node
        self.value = value
        #: 1-based; empty documents count too.
        self.number = number

    def line(self, path: str | None = None) -> int:
        """Return the 1-based line of a path such as `spec.containers[0].image`.

        Where the path leads nowhere, the line of its last step that exists is returned.
        """
        node = self._node
        for step in _steps(path or ""):
            found = _child(node, step)
            if found is None:
                break
            node = found
        return _line(node)


_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


def _steps(path: str) -> Iterator[str]:
    for match in _STEP.finditer(path):
        yield match[1] if match[2] is None else match[2]


def _child(node: yaml.Node, step: str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode):
        if step.isdecimal() and int(step) < len(node.value):
            item: yaml.Node = node.value[int(step)]
            return item
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                found: yaml.Node = value
                return found
    return None


def load_documents(text: str, file: str | None = None) -> Iterator[YamlDocument]:
    """Read every document of a YAML text; empty ones are left out but counted."""
    number = 1
    loader = None
    try:
        loader = _KubernetesLoader(text)
        while loader.check_node():
            node = loader.get_node()
            value = loader.construct_document(node)
            if "*" in text:
                _check_size(value, len(text) * _MAX_VALUES_PER_CHARACTER + _MAX_VALUES_ANYWAY)
            if value is not None:
                yield YamlDocument(node, value, number)
            number += 1
    except ObjectError as error:
        raise error.at(file=file, document=number) from None
    except yaml.YAMLError as error:
        raise _syntax_error(error, file, number) from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise ObjectError(f"not valid YAML: {error}", file=file, document=number) from None
    finally:
        if loader is not None:
            loader.dispose()


def _check_size(value: Any, limit: int) -> None:
    """Refuse aliases that contain themselves or multiply beyond reason."""
    count = 0
    pending = [value]
    while pending:
        found = pending.pop()
        count += 1
        if count > limit:
            raise ObjectError("the document's aliases make it too large")
        if isinstance(found, dict):
            pending.extend(found.values())
        elif isinstance(found, list):
            pending.extend(found)


def _syntax_error(error: yaml.YAMLError, file: str | None, number: int) -> ObjectError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    line = int(mark.line) + 1 if mark is not None else None
    return ObjectError(f"not valid YAML: {problem}", file=file, document=number, line=line)
