"""`mooring completion`: print a script that completes commands and flags in a shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

import msgspec

from mooring.cli.commands import COMMANDS

_DESCRIPTION = """Print a script that completes the commands and flags of `mooring`.

  bash:  source <(mooring completion bash)
  zsh:   source <(mooring completion zsh)
  fish:  mooring completion fish | source
"""


class CommandWords(msgspec.Struct, frozen=True):
    """What can follow a command: subcommands and flags, each with its help."""

    #: The words of the command after `mooring`.
    path: tuple[str, ...]
    subcommands: dict[str, str]
    flags: dict[str, str]
    #: The values of flags that have a fixed set of them.
    choices: dict[str, tuple[str, ...]]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "completion",
        help=COMMANDS["completion"].help,
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.main import make_parser

    scripts = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    print("\n".join(scripts[args.shell](list(words_of(make_parser())))))
    return 0


def words_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[CommandWords]:
    """Yield the words that can follow each command, the shortest command first."""
    flags: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    helps: dict[str, str] = {}
    parsers: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers = dict(action.choices)
            helps = {one.dest: one.help or "" for one in action._choices_actions}
        for flag in action.option_strings:
            flags[flag] = (action.help or "").replace("%(default)s", str(action.default))
            if action.choices:
                choices[flag] = tuple(map(str, action.choices))
        if action.choices and not action.option_strings and not parsers:
            helps = dict.fromkeys(map(str, action.choices), "")
    if path in (("run",), ("controllers",)):
        flags = _own_flags(path[0])
    yield CommandWords(path, helps, flags, choices)
    for name, sub in parsers.items():
        yield from words_of(sub, (*path, name))


def _own_flags(command: str) -> dict[str, str]:
    """Return the flags of a command that has a parser of its own, that of kube-scheduler."""
    from mooring.app.controllers_flags import FLAGS
    from mooring.app.flag_table import ALL

    groups = ALL if command == "run" else FLAGS
    return {f"--{flag.name}": flag.help for group in groups for flag in group.flags}


def _bash(commands: list[CommandWords]) -> Iterator[str]:
    yield "# bash completion for mooring"
    yield "_mooring() {"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '  local typed="" words="" word'
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'    case "$typed $word" in {_paths(commands)}) typed="$typed $word" ;; esac'
    yield "  done"
    yield from _cases(commands)
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))'
    yield "}"
    yield "complete -o filenames -F _mooring mooring"


def _zsh(commands: list[CommandWords]) -> Iterator[str]:
    yield "#compdef mooring"
    yield "_mooring() {"
    # `words` is zsh's own array here, so the candidates have another name.
    yield '  local prev="${words[CURRENT-1]}" typed="" candidates="" word'
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f'    case "$typed $word" in ({_paths(commands)}) typed="$typed $word" ;; esac'
    yield "  done"
    yield from (line.replace("words=", "candidates=") for line in _cases(commands))
    yield "  compadd -- ${=candidates} || _files"
    yield "}"
    yield "compdef _mooring mooring"


def _paths(commands: list[CommandWords]) -> str:
    return "|".join(shlex.quote(" " + " ".join(one.path)) for one in commands if one.path)


def _cases(commands: list[CommandWords]) -> Iterator[str]:
    """Yield the statement that sets the candidates from the command and the word before."""
    yield '  case "$typed:$prev" in'
    for one in commands:
        path = "".join(f" {word}" for word in one.path)
        for flag, values in one.choices.items():
            yield f'    "{path}:{flag}") words="{" ".join(values)}" ;;'
    for one in commands:
        path = "".join(f" {word}" for word in one.path)
        yield f'    "{path}:"*) words="{" ".join((*one.subcommands, *one.flags))}" ;;'
    yield "  esac"


def _fish(commands: list[CommandWords]) -> Iterator[str]:
    yield "# fish completion for mooring"
    for one in commands:
        seen = "__fish_use_subcommand"
        if one.path:
            seen = f"__fish_seen_subcommand_from {one.path[-1]}"
        for name, text in one.subcommands.items():
            yield _fish_line(seen, f"-a {name}", text)
        for flag, text in one.flags.items():
            kind = "-l" if flag.startswith("--") else "-s"
            values = one.choices.get(flag)
            more = f" -xa {shlex.quote(' '.join(values))}" if values else ""
            yield _fish_line(seen, f"{kind} {flag.lstrip('-')}{more}", text)


def _fish_line(seen: str, what: str, text: str) -> str:
    first = text.partition("\n")[0]
    described = f" -d {shlex.quote(first)}" if first else ""
    return f"complete -c mooring -n {shlex.quote(seen)} {what}{described}"
