"""The base class of plugins."""

from __future__ import annotations

import msgspec

from mooring import Nominate, Plugin, PreFlight


class Sized(Plugin):
    class Args(msgspec.Struct):
        size: int = 3


def test_a_plugin_is_named_after_its_class_unless_it_says_otherwise():
    class Renamed(Plugin):
        name = "other"

    class Below(Renamed):
        pass

    assert (Sized.name, Renamed.name, Below.name) == ("Sized", "other", "Below")
    assert Sized().name == "Sized"


def test_absent_args_are_the_defaults():
    assert Sized().args == Sized.Args(size=3)
    assert Sized(Sized.Args(size=5)).args.size == 5
    assert Sized({"size": 7}).args == {"size": 7}
    assert Plugin().args is None


async def test_a_plugin_keeps_its_handle_and_may_start_and_close():
    handle = object()
    plugin = Sized(handle=handle)
    assert plugin.handle is handle
    assert plugin.start() is None
    assert await plugin.close() is None


def test_a_plugin_looks_at_pods_unless_it_says_otherwise():
    assert Sized.reads_pods
    assert Sized.reads_pod_labels


def test_results_have_defaults():
    assert Nominate("n") == Nominate("n", None, (), ())
    assert not PreFlight().allow_parallel
