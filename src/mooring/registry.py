"""Registry: finds plugin classes and checks that they keep the contract.

A plugin is found by entry point (group `mooring.plugins`), by `--plugin FILE.py:Class` or
`--plugin package.module:Class`, or is passed in by code. In each case it is checked here, once:
the signature of every extension point, and that no public method looks like a misspelt point.
The plugins of `mooring.contrib` are known by name and loaded when they are first asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.errors import MooringError, PluginError
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import raise_if_external
from mooring.framework.plugin_modules import (
    PluginFolder,
    is_installed,
    load_file,
    load_module,
    plugin_folder,
    plugin_folders,
    replacing,
)
from mooring.framework.points import METHODS, Method, Point, points_of, takes_all
from mooring.framework.releases import Release
from mooring.observe.files import locate

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Entry-point group of packages that provide plugins.
ENTRY_POINT_GROUP = "mooring.plugins"

#: A public method whose name is this close to a point's name counts as a misspelling of it.
_MAX_EDITS = 2

_PLUGIN_METHODS = frozenset({"start", "close"})


class Registry:
    """The plugin classes by name."""

    def __init__(
        self, plugins: Iterable[type[Plugin]] = (), references: Mapping[str, str] | None = None
    ) -> None:
        """Register `plugins`; a plugin among `references` ("module:Class" by name) is loaded when
        it is asked for, unless another one of its name is registered."""
        self._plugins: dict[str, type[Plugin]] = {}
        self._references = dict(references or {})
        for plugin in plugins:
            self.register(plugin)

    def register(self, plugin: type[Plugin]) -> None:
        """Check a plugin class and add it; raise PluginError if it breaks the contract."""
        check_contract(plugin)
        self._references.pop(plugin.name, None)
        if plugin.name in self._plugins and self._plugins[plugin.name] is not plugin:
            raise PluginError(
                f"a plugin named {plugin.name} already exists: "
                f"{_describe(self._plugins[plugin.name])}; give {_describe(plugin)} another `name`",
                plugin=plugin.name,
            )
        self._plugins[plugin.name] = plugin

    def get(self, name: str) -> type[Plugin] | None:
        """Return a plugin class, or None."""
        reference = self._references.get(name)
        if reference is not None:
            self.register(load_plugin(reference))
        return self._plugins.get(name)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._plugins, *self._references})

    def points(self, name: str) -> frozenset[Point]:
        """Return the extension points a registered plugin implements; empty if it is unknown."""
        plugin = self.get(name)
        return frozenset() if plugin is None else points_of(plugin)

    def __contains__(self, name: object) -> bool:
        return name in self._plugins or name in self._references

    def __iter__(self) -> Iterator[type[Plugin]]:
        for name in tuple(self._references):
            self.get(name)
        return iter(self._plugins.values())


class PointsByName(Mapping[str, frozenset[Point]]):
    """The extension points of each plugin of a registry; a plugin is loaded when it is read.

    A release of kube-scheduler may leave out points of the built-in plugins.
    """

    def __init__(self, registry: Registry, release: Release) -> None:
        self._registry = registry
        self._without_pre_filter = release.without_pre_filter

    def __getitem__(self, name: str) -> frozenset[Point]:
        if name not in self._registry:
            raise KeyError(name)
        points = self._registry.points(name)
        return points - {Point.PRE_FILTER} if name in self._without_pre_filter else points

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.names())

    def __len__(self) -> int:
        return len(self._registry.names())


def default_registry(plugins: Iterable[type[Plugin]] = ()) -> Registry:
    """Return a registry with the built-ins, those of `contrib` and of installed packages, and
    `plugins`."""
    from importlib.metadata import entry_points

    from mooring.contrib import PLUGINS
    from mooring.observe.confinement import is_confined
    from mooring.plugins import BUILT_INS

    registry = Registry(BUILT_INS, PLUGINS)
    # The packages that are installed here are not part of a confined container's image.
    installed = () if is_confined() else entry_points(group=ENTRY_POINT_GROUP)
    for entry in installed:
        registry.register(_as_plugin(_load_entry(entry), f"entry point {entry.name}"))
    for plugin in plugins:
        registry.register(plugin)
    return registry


def _load_entry(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except BaseException as error:
        raise_if_external(error)
        raise PluginError(
            f"entry point {entry.name} ({entry.value}) does not load: {error!r}", plugin=entry.name
        ) from error


def load_plugin(reference: str) -> type[Plugin]:
    """Load a plugin class from `FILE.py:Class` or `package.module:Class`.

    `FILE.py` alone means the only plugin that the file defines. A file is loaded again if it was
    loaded before, and so is what it imported from its folder.
    """
    return load_plugins([reference])[0]


def load_plugins(references: Iterable[str]) -> list[type[Plugin]]:
    """Load the plugin classes that a command line names, each as `load_plugin` does.

    Plugins of one folder share the modules that they import from it. If a plugin does not load, the
    modules that were loaded before stay.
    """
    named = [_split(reference) for reference in references]
    folders = [plugin_folder(_folder(where)) for _, where, _ in named]
    with replacing(folders):
        return [_load(folder, *one) for folder, one in zip(folders, named, strict=True)]


def load_installed(references: Iterable[str]) -> list[type[Plugin]]:
    """Load plugin classes that the user of this machine names for a container, each once.

    Files are those of this machine, not of the container, and the container's working directory is
    not searched for modules.
    """
    loaded = []
    for reference, where, attribute in map(_split, references):
        folder = plugin_folder(Path(where).parent) if where.endswith(".py") else None
        loaded.append(_load(folder, reference, where, attribute, Path))
    return loaded


def _split(reference: str) -> tuple[str, str, str]:
    """Return a reference, its file or module, and its class or ""."""
    where, _, attribute = reference.rpartition(":")
    if reference.endswith(".py"):
        return reference, reference, ""
    if not where or not attribute.isidentifier():
        raise PluginError(
            'expected "FILE.py:Class" or "package.module:Class"',
            plugin=reference,
        )
    return reference, where, attribute


def _folder(where: str) -> Path:
    """Return the folder that comes first for a plugin's imports."""
    return locate(where).parent if where.endswith(".py") else Path()


def _load(
    folder: PluginFolder | None,
    reference: str,
    where: str,
    attribute: str,
    find: Callable[[str], Path] = locate,
) -> type[Plugin]:
    try:
        module = _load_module(folder, where, find)
    except MooringError:
        raise
    except BaseException as error:
        raise_if_external(error)
        raise PluginError(
            f"{where} does not load: {error!r}{_position(error, where, folder)}", plugin=reference
        ) from error
    found = getattr(module, attribute or _only_plugin(module, reference), None)
    if found is None:
        raise PluginError(
            f"{where} has no {attribute}; its plugins: "
            f"{', '.join(_plugin_names(module)) or 'none'}",
            plugin=reference,
        )
    return _as_plugin(found, f"--plugin {reference}")


def _position(error: BaseException, file: str, folder: PluginFolder | None) -> str:
    """Return the line of a plugin's files that raised, in brackets; "" if it is none of them."""
    files = {file, *(() if folder is None else map(str, folder.files))}
    for frame in reversed(extract_tb(error.__traceback__)):
        if frame.filename in files:
            return f" ({frame.filename}:{frame.lineno})"
    return ""


def _load_module(
    folder: PluginFolder | None, where: str, find: Callable[[str], Path]
) -> ModuleType:
    if not where.endswith(".py"):
        return import_module(where) if folder is None else load_module(folder, where)
    assert folder is not None
    path = find(where)
    if not path.is_file():
        raise PluginError("no such file", plugin=str(path))
    return load_file(folder, path)


def plugin_files(references: Iterable[str]) -> list[str]:
    """Return the files among references for `load_plugin`, without the class names."""
    named = (one if one.endswith(".py") else one.rpartition(":")[0] for one in references)
    return [one for one in named if one.endswith(".py")]


def loaded_files(references: Iterable[str]) -> list[Path]:
    """Return the files of plugins that were loaded, and of what they imported from their folders.

    A file that was found but does not load is among them.
    """
    references = list(references)
    named = [where for _, where, _ in map(_split, references)]
    folders = {_folder(one) for one in named if one.endswith(".py") or not is_installed(one)}
    found = (file for one in plugin_folders() if one.folder in folders for file in one.files)
    return list(dict.fromkeys([*map(Path, plugin_files(references)), *sorted(found)]))


def _plugin_names(module: Any) -> list[str]:
    return sorted(
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Plugin) and value is not Plugin
    )


def _only_plugin(module: Any, reference: str) -> str:
    names = _plugin_names(module)
    own = [name for name in names if getattr(module, name).__module__ == module.__name__]
    if len(own) != 1:
        raise PluginError(
            "expected one plugin in the file, found "
            f"{', '.join(own) or 'none'}; name one: {reference}:Class",
            plugin=reference,
        )
    return own[0]


def _as_plugin(found: object, origin: str) -> type[Plugin]:
    if not (inspect.isclass(found) and issubclass(found, Plugin)):
        raise PluginError(
            f"{origin}: expected a class derived from mooring.Plugin, found {found!r}",
            plugin=getattr(found, "__name__", repr(found)),
        )
    return found


def check_contract(plugin: type[Plugin]) -> None:
    """Raise PluginError if a plugin class breaks the contract, naming the method and the fix."""
    if not isinstance(plugin.name, str) or not plugin.name:
        raise PluginError(
            f"{_describe(plugin)}: `name` must be a non-empty string, found {plugin.name!r}",
            plugin=plugin.__name__,
        )
    _check_args(plugin)
    for name, value in inspect.getmembers(plugin, callable):
        if name.startswith("_") or name == "Args":
            continue
        if name in METHODS:
            _check_signature(plugin, *METHODS[name], value)
        elif name not in _PLUGIN_METHODS:
            _check_spelling(plugin, name)
    if not points_of(plugin):
        raise PluginError(
            f"{_describe(plugin)} implements no extension point; add a method such as "
            "filter(self, state, pod, node)",
            plugin=plugin.name,
        )


def _check_args(plugin: type[Plugin]) -> None:
    args: object = plugin.Args
    if args is None or (inspect.isclass(args) and issubclass(args, msgspec.Struct)):
        return
    found = "a dataclass" if hasattr(args, "__dataclass_fields__") else repr(args)
    raise PluginError(
        f"{_describe(plugin)}.Args must be a msgspec.Struct, found {found}: write "
        "`class Args(msgspec.Struct)` without a decorator; fields and defaults stay as they are",
        plugin=plugin.name,
    )


def _check_signature(plugin: type[Plugin], point: Point, method: Method, function: Any) -> None:
    expected = f"{method.name}({', '.join(('self', *method.parameters))})"
    signature = inspect.signature(function)
    try:
        if not takes_all(method, function, "self"):
            signature.bind("self", *method.parameters[: method.required or None])
    except TypeError as error:
        raise PluginError(
            f"{_describe(plugin)}.{method.name}{signature} cannot be called as {expected}: {error}",
            plugin=plugin.name,
            point=point.label,
        ) from None
    if inspect.iscoroutinefunction(function) and not point.value.may_suspend:
        raise PluginError(
            f"{_describe(plugin)}.{method.name} is `async def`, but {point.label} runs inside the "
            "scheduling cycle, which never waits; use `handle.spawn` or PreBind for I/O",
            plugin=plugin.name,
            point=point.label,
        )


def _check_spelling(plugin: type[Plugin], name: str) -> None:
    for known, (point, _) in METHODS.items():
        if _edits(name, known) <= _MAX_EDITS:
            raise PluginError(
                f"{_describe(plugin)} has a method `{name}`: did you mean `{known}`? "
                f"Rename it, or begin it with an underscore if it is not {point.label}",
                plugin=plugin.name,
                point=point.label,
            )


def _edits(a: str, b: str) -> int:
    """Return the Levenshtein distance, or `_MAX_EDITS` + 1 if the lengths differ by more."""
    if abs(len(a) - len(b)) > _MAX_EDITS:
        return _MAX_EDITS + 1
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right)),
            )
    return row[-1]


def _describe(plugin: type) -> str:
    """Return module and class as their author knows them (see `plugin_modules`)."""
    return f"{plugin.__module__.partition('@')[0]}.{plugin.__qualname__}"
