"""Installing: replacing loaded code by a mutant, in memory."""

from __future__ import annotations

import ast
import gc
import importlib.util
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, FunctionType, ModuleType

from tools.mutants.drawing import Mutant


def functions_of(files: set[str]) -> dict[str, list[FunctionType]]:
    """Return the loaded functions of some files, by file."""
    found: dict[str, list[FunctionType]] = {file: [] for file in files}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename in found:
            found[function.__code__.co_filename].append(function)
    return found


def replace_functions(mutant: Mutant, functions: list[FunctionType]) -> bool:
    """Give the functions of a file the code of a mutant; return whether any changed."""
    path = str(mutant.path.resolve())
    codes = {_key(code): code for code in _codes(_compiled(mutant.tree(), path))}
    found = False
    for function in functions:
        code = codes[_key(function.__code__)]
        if code != function.__code__:
            function.__code__ = code
            found = True
    return found


def replaceable(mutant: Mutant) -> bool:
    """Return whether functions that are loaded can get the code of a mutant.

    A function keeps its free variables, so a mutant that needs others cannot replace its code:
    without `super()`, for example, a method no longer has the variable `__class__`.
    """
    path = str(mutant.path.resolve())
    trees = (ast.parse(mutant.path.read_bytes()), mutant.tree())
    before, after = (
        {_key(code): code.co_freevars for code in _codes(_compiled(tree, path))} for tree in trees
    )
    return before == after


def import_mutant(mutant: Mutant, module: str) -> None:
    """Make the import of a module, which must not be loaded yet, load a mutant."""
    sys.meta_path.insert(0, _Finder(module, str(mutant.path.resolve()), mutant.tree()))


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _compiled(tree: ast.Module, path: str) -> CodeType:
    return compile(tree, path, "exec", dont_inherit=True)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Loader(SourceFileLoader):
    """A loader of one changed module."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return _compiled(self._tree, self.path)


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self._name = name
        self._loader = _Loader(name, path, tree)

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._loader.path, loader=self._loader
        )
