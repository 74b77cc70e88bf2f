"""Plugin modules: the files and modules that a command line names, and what they import.

A plugin's folder comes first for the imports of that plugin, as for a script, except that modules
of the standard library keep their names: the scheduler imports them too. The modules of a folder
are loaded by `_SourceLoader`, so that they can be found again in `sys.modules` and replaced when
their files change. Modules that were imported in any other way are never replaced.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType

from mooring.errors import ConfigError


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """A loader that ignores cached bytecode, whose staleness check knows only seconds and size."""

    def __init__(self, fullname: str, path: str, folder: Path) -> None:
        super().__init__(fullname, path)
        self.folder = folder

    def get_code(self, fullname: str) -> CodeType:
        try:
            return self.source_to_code(self.get_data(self.path), self.path)
        except SyntaxError as error:
            raise ConfigError(
                error.msg,
                file=error.filename or self.path,
                line=error.lineno,
                column=error.offset,
            ) from error


class PluginFolder:
    """A folder with plugins, and a finder of the modules in it (a `MetaPathFinder`).

    It belongs to `sys.meta_path`: first while a plugin of the folder loads, last afterwards, for
    imports inside of functions.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The files that were found, whether they could be loaded or not.
        self.files: set[Path] = set()
        #: What plugins of this folder import by a name that another folder's module has in
        #: `sys.modules`.
        self.hidden: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module in this folder, or of a submodule of a package in it."""
        parent, _, name = fullname.rpartition(".")
        if path is None:
            places: Sequence[str] = [str(self.folder)]
        elif parent in self.modules():
            places = path
        else:
            return None
        if fullname in sys.stdlib_module_names:
            return None
        for place in places:
            found = self._find(fullname, Path(place, name))
            if found is not None:
                return found
        return None

    def _find(self, fullname: str, found: Path) -> importlib.machinery.ModuleSpec | None:
        for file, places in (
            (found / "__init__.py", [str(found)]),
            (found.with_name(f"{found.name}.py"), None),
        ):
            if file.is_file():
                return self.spec(fullname, file, places)
        return None

    def spec(
        self, name: str, file: Path, places: list[str] | None = None
    ) -> importlib.machinery.ModuleSpec:
        """Return the spec of a file, to be loaded as module `name`; `places` are a package's."""
        self.files.add(file)
        loader = _SourceLoader(name, str(file), self.folder)
        spec = importlib.util.spec_from_file_location(
            name, file, loader=loader, submodule_search_locations=places
        )
        assert spec is not None
        return spec

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules of this folder that are loaded."""
        return {name: one for name, one in sys.modules.items() if _folder_of(one) == self.folder}


def _loader_of(module: ModuleType | None) -> _SourceLoader | None:
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader if isinstance(loader, _SourceLoader) else None


def _folder_of(module: ModuleType) -> Path | None:
    """Return the plugin folder that a module was loaded from, or None."""
    loader = _loader_of(module)
    return None if loader is None else loader.folder


def plugin_folders() -> list[PluginFolder]:
    """Return the folders from which plugins were loaded."""
    return [one for one in sys.meta_path if isinstance(one, PluginFolder)]


def plugin_folder(folder: Path) -> PluginFolder:
    """Return a folder of plugins; it is added to `sys.meta_path` when it is new."""
    for known in plugin_folders():
        if known.folder == folder:
            return known
    added = PluginFolder(folder)
    sys.meta_path.append(added)
    return added


def is_installed(name: str) -> bool:
    """Return whether a module was imported from where Python finds modules."""
    module = sys.modules.get(name)
    return module is not None and _folder_of(module) is None


@contextmanager
def replacing(folders: Iterable[PluginFolder]) -> Iterator[None]:
    """Load the modules of some folders again; if the block raises, the old ones stay."""
    folders = tuple(folders)
    old = {name: one for folder in folders for name, one in folder.modules().items()}
    old_files = {folder: folder.files for folder in folders}
    old_hidden = {folder: folder.hidden for folder in folders}
    for name in old:
        del sys.modules[name]
    for folder in folders:
        folder.files = set()
        folder.hidden = {
            name: one for name, one in folder.hidden.items() if _folder_of(one) != folder.folder
        }
    try:
        yield
    except BaseException:
        for folder in folders:
            for name in folder.modules():
                del sys.modules[name]
            folder.files |= old_files[folder]
            folder.hidden = old_hidden[folder]
        sys.modules.update(old)
        raise


def load_file(folder: PluginFolder, file: Path) -> ModuleType:
    """Return the module of a file, loaded unless an import has loaded it already."""
    name = _module_name(file)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    is_plugins = _loader_of(sys.modules.get(file.stem)) is not None
    with _first(folder):
        spec = folder.spec(name, file)
        module = importlib.util.module_from_spec(spec)
        # Registered before it runs: dataclasses and msgspec look up their module there.
        sys.modules[name] = module
        if is_plugins:
            # Other plugins of the folder import it by this name.
            sys.modules.setdefault(file.stem, module)
        try:
            assert spec.loader is not None
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module


def load_module(folder: PluginFolder, name: str) -> ModuleType:
    """Import a module from this folder, or from where Python finds modules."""
    with _first(folder):
        return importlib.import_module(name)


@contextmanager
def _first(folder: PluginFolder) -> Iterator[None]:
    """Let imports look into a folder first, and hide the modules of other plugins' folders.

    Two plugins may import different modules of the same name. The first one keeps the name in
    `sys.modules`; the folder of the other one keeps its module for its next plugin.
    """
    hidden = {
        name: one
        for name, one in sys.modules.items()
        if _folder_of(one) not in (None, folder.folder)
    }
    for name in hidden:
        del sys.modules[name]
    for name, one in folder.hidden.items():
        sys.modules.setdefault(name, one)
    sys.meta_path.remove(folder)
    sys.meta_path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.meta_path.remove(folder)
        sys.meta_path.append(folder)
        folder.hidden = {name: sys.modules[name] for name in hidden if name in sys.modules}
        sys.modules.update(hidden)


def _module_name(file: Path) -> str:
    """Return the name that a file's module has for its author, or one with the path if taken."""
    name = file.stem
    module = sys.modules.get(name)
    loader = _loader_of(module)
    if loader is not None and Path(loader.path) == file:
        return name
    found = importlib.machinery.PathFinder.find_spec(name)
    is_other = found is not None and not _is_same(found.origin, file)
    if module is not None or is_other or name in sys.stdlib_module_names:
        return f"{name}@{file}"
    return name


def _is_same(origin: str | None, file: Path) -> bool:
    return origin is not None and Path(origin).resolve() == file.resolve()
