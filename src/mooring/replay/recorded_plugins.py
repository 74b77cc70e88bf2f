"""The plugins of a journal. A journal is data: it names files, but does not decide what is loaded.

A recorded plugin is one that this installation has, one that the user names, or a file of the
journal that the caller trusts. Its content must be the recorded one in each case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from mooring.errors import JournalError, MooringError
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.framework.plugin import Plugin
from mooring.journal.entries import SegmentHead
from mooring.journal.head import describe_plugin
from mooring.observe.files import read_file
from mooring.registry import default_registry, load_plugins

_OWN = "mooring."

_NAME_IT = "name the plugin with --plugin FILE.py:Class"
NOT_LOADED = (
    "the journal needs plugin {name} of {file}, which is not loaded, because a journal is data: "
    f"{_NAME_IT}, or load the files that the journal names with --trust-recorded-plugins"
)
_NO_FILE = "the journal needs plugin {name}, which came from no file: " + _NAME_IT
_NO_PLUGIN_FILE = (
    "the journal needs plugin {name} of {file}, which is not the absolute path of a Python file: "
    + _NAME_IT
)
_GONE = (
    "plugin {name} of the journal was loaded from {file}, which {problem}: restore the file, or "
    "name the plugin as it is now with --plugin FILE.py:Class"
)

#: Returns whether the file of a recorded plugin may be loaded because the journal names it.
Trust = Callable[[RecordedPlugin], bool]


def trust_none(plugin: RecordedPlugin) -> bool:
    """Trust no file that a journal names."""
    return False


def trust_all(plugin: RecordedPlugin) -> bool:
    """Trust every file that a journal names, as the user of --trust-recorded-plugins does."""
    return True


def is_recorded(head: SegmentHead, plugin: type[Plugin]) -> bool:
    """Return whether a plugin is one that ran: its name, class and content are the recorded ones.

    The file may be elsewhere now.
    """
    now = describe_plugin(plugin)
    return any(
        (one.name, _class_of(one), one.sha256) == (now.name, _class_of(now), now.sha256)
        for one in head.plugins
        if one.sha256
    )


def missing_plugins(
    recorded: Iterable[RecordedPlugin], plugins: Iterable[type[Plugin]], trusts: Trust
) -> list[type[Plugin]]:
    """Load the recorded plugins that are neither installed nor among `plugins`.

    Raise JournalError if the content of one has changed, or if one is not to be loaded.
    """
    registry = default_registry(plugins)
    wanted: list[str] = []
    for one in recorded:
        if one.reference.startswith(_OWN):
            continue
        known = registry.get(one.name)
        if known is None:
            wanted.append(_reference(one, trusts))
        else:
            now = describe_plugin(known)
            if now.sha256 and one.sha256 and now.sha256 != one.sha256:
                raise _gone(one.name, now.file, "has changed since")
    try:
        return load_plugins(wanted)
    except MooringError as error:
        raise JournalError(
            f"a plugin of the journal no longer loads: {error}; restore it, or name it as it is "
            "now with --plugin FILE.py:Class"
        ) from error


def usable_plugins(
    recorded: Iterable[RecordedPlugin], plugins: Iterable[type[Plugin]], trusts: Trust
) -> list[type[Plugin]]:
    """Load those of the recorded plugins that `missing_plugins` can load."""
    plugins = tuple(plugins)
    found: list[type[Plugin]] = []
    for one in recorded:
        try:
            found += missing_plugins([one], plugins, trusts)
        except JournalError:
            continue
    return found


def _class_of(plugin: RecordedPlugin) -> str:
    return plugin.reference.rpartition(":")[2]


def _reference(plugin: RecordedPlugin, trusts: Trust) -> str:
    """Return how to load a plugin from its file; raise JournalError if it must not be loaded."""
    name, file = plugin.name, plugin.file
    if not file:
        raise JournalError(_NO_FILE.format(name=name))
    if not Path(file).is_absolute() or Path(file).suffix != ".py":
        raise JournalError(_NO_PLUGIN_FILE.format(name=name, file=file))
    if not trusts(plugin):
        raise JournalError(NOT_LOADED.format(name=name, file=file))
    if not Path(file).is_file():
        raise _gone(name, file, "is no longer there")
    try:
        content = read_file(file)
    except OSError as error:
        raise _gone(name, file, f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != plugin.sha256:
        raise _gone(name, file, "has changed since")
    return f"{file}:{_class_of(plugin)}"


def _gone(name: str, file: str, problem: str) -> JournalError:
    return JournalError(_GONE.format(name=name, file=file, problem=problem))
