"""The rules that a command line applies to a journal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.cli.messages import warn
from mooring.errors import ConfigError

if TYPE_CHECKING:
    from mooring.journal.entries import SegmentHead
    from mooring.replay.recorded_plugins import Trust
    from mooring.replay.replay_rules import ReplayRules

_TRUST = "--trust-recorded-plugins"


def add_trust_flag(parser: argparse.ArgumentParser) -> None:
    """Add --trust-recorded-plugins."""
    parser.add_argument(
        _TRUST,
        action="store_true",
        help="load the plugin files that the journal names, which runs their code as you; without "
        "it, a plugin that is not installed must be named with --plugin",
    )


def check_trust_flag(args: argparse.Namespace) -> None:
    """Raise ConfigError if the flag is given without a journal."""
    if args.trust_recorded_plugins and args.journal is None:
        raise ConfigError(f"{_TRUST} has an effect on a journal only: name one with --journal")


class JournalRules:
    """The rules that a command line applies to a journal; each of their warnings is shown once."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._shown: set[str] = set()

    def applied(self, head: SegmentHead) -> ReplayRules:
        """Return the rules to apply to a run: the recorded ones unless flags name others."""
        from mooring.replay.replay_rules import other_rules, recorded_rules

        args, trusts = self._args, self._trust()
        if args.config is None and not args.plugin:
            return recorded_rules(head, args.plugins, trusts=trusts)
        rules = other_rules(head, args.config, args.plugin, args.plugins, trusts=trusts)
        # A journal has a head per segment.
        warn(one for one in rules.config.warnings if one not in self._shown)
        self._shown.update(rules.config.warnings)
        return rules

    def recorded(self, head: SegmentHead) -> ReplayRules:
        """Return the recorded rules; raise JournalError if a plugin that they need is missing."""
        from mooring.replay.replay_rules import recorded_rules

        args = self._args
        return recorded_rules(head, args.plugins, references=args.plugin, trusts=self._trust())

    def _trust(self) -> Trust:
        from mooring.replay.recorded_plugins import trust_all, trust_none

        return trust_all if self._args.trust_recorded_plugins else trust_none
