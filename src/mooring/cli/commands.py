"""The commands of `mooring`: the module of each, and what it does in one line.

`mooring --help` prints this table, so that a command's module is loaded only if it is named.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command: its module in this package, which has an `add_parser`, and its help."""

    module: str
    help: str


COMMANDS = {
    "completion": CommandEntry(
        "completion",
        "print a script that completes commands and flags in a shell",
    ),
    "config": CommandEntry("config", "check or convert a scheduler configuration"),
    "controllers": CommandEntry(
        "controllers",
        "write the status of PodGroups and ElasticQuotas of a cluster",
    ),
    "down": CommandEntry("down", "end a local cluster that `mooring up` runs"),
    "explain": CommandEntry(
        "explain_flags",
        "say why a pod of a cluster is where it is, or why it waits",
    ),
    "extender": CommandEntry(
        "extender_flags",
        "serve plugins to a stock kube-scheduler, as an HTTP extender",
    ),
    "list": CommandEntry("list_clusters", "list the local clusters that run"),
    "manifests": CommandEntry(
        "manifests_flags",
        "print the Kubernetes objects that run a scheduler",
    ),
    "new-plugin": CommandEntry(
        "new_plugin",
        "write a plugin that works, with its test and its configuration",
    ),
    "replay": CommandEntry(
        "replay_flags",
        "decide the attempts of a journal again, by its rules or by others",
    ),
    "run": CommandEntry("run", "run as a scheduler, with kube-scheduler's flags"),
    "schedule": CommandEntry(
        "schedule_flags",
        "schedule the pending pods of some manifests in memory",
    ),
    "shadow": CommandEntry(
        "shadow_flags",
        "compare Mooring's decisions with those of a cluster's scheduler",
    ),
    "status": CommandEntry("status_flags", "show what a local cluster consists of"),
    "ui": CommandEntry(
        "ui_flags",
        "show nodes, pending pods and decisions of a cluster in a browser",
    ),
    "up": CommandEntry("up_flags", "run a local cluster that kubectl can use"),
    "version": CommandEntry("version", "print the versions of Mooring, Kubernetes and Python"),
}
