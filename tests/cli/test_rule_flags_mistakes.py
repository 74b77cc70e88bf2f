"""Every command that reads rules reports a mistake in them with the same sentence."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mooring.cli.main import main
from tests.replay.recordings import JOURNAL_0_2_0

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = """\
from mooring import Plugin

class {name}(Plugin):
    def filter(self, state, pod, node): ...
"""
FILES = {
    "uses.yaml": f"{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: Used}}]}}}}}}]\n",
    "used.py": PLUGIN.format(name="Used"),
    "mine.py": PLUGIN.format(name="Mine"),
    "twin.py": PLUGIN.format(name="Mine"),
    "broken.py": "class Mine(\n",
    "raises.py": "1 / 0\n",
    "other.py": "class Mine: ...\n",
    "pods.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: node-0}\n",
    # Nothing listens on this port.
    "kubeconfig": "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
    "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u}]\n",
}


class Mistake(msgspec.Struct, frozen=True):
    """A mistake in rules, and the sentence about it; {} stands for the folder of the files."""

    sentence: str
    config: str = ""
    plugins: tuple[str, ...] = ()
    gates: str = ""
    #: Whether it is a warning: the command goes on.
    is_warning: bool = False


MISTAKES = {
    "a configuration file that is absent": Mistake(
        "{}/absent.yaml: No such file or directory", config="absent.yaml"
    ),
    "a plugin that is not registered": Mistake(
        '{}/uses.yaml:3:49: profiles[0].plugins.filter.enabled[0].name: plugin "Used" is not '
        "registered; register it with --plugin FILE.py:Class, with a package that has the entry "
        "point group mooring.plugins, or with mooring.main(plugins=[...])",
        config="uses.yaml",
    ),
    "a gate that does not exist": Mistake(
        "unrecognized feature gate: Nonsense", gates="Nonsense=true"
    ),
    "a gate with a value that is none": Mistake(
        'invalid value of GenericWorkload=maybe, err: strconv.ParseBool: parsing "maybe": invalid '
        "syntax",
        gates="GenericWorkload=maybe",
    ),
    "a gate that will be removed": Mistake(
        "Warning: setting deprecated feature gate. It will be removed in a future release. "
        "AggregatedDiscoveryRemoveBetaType=true",
        config="uses.yaml",
        plugins=("used.py:Used",),
        gates="AggregatedDiscoveryRemoveBetaType=true",
        is_warning=True,
    ),
    "a plugin that no profile uses": Mistake(
        "{}/uses.yaml: no profile uses plugin Mine: name it in `plugins`, or leave --config out",
        config="uses.yaml",
        plugins=("used.py:Used", "mine.py:Mine"),
        is_warning=True,
    ),
    "two plugins of one name": Mistake(
        "plugin Mine: a plugin named Mine already exists: mine.Mine; give twin.Mine another `name`",
        plugins=("mine.py:Mine", "twin.py:Mine"),
    ),
    "a class that is no plugin": Mistake(
        "plugin Mine: --plugin {0}/other.py:Mine: expected a class derived from mooring.Plugin, "
        "found <class 'other.Mine'>",
        plugins=("other.py:Mine",),
    ),
    "a file without a plugin": Mistake(
        "plugin {0}/other.py: expected one plugin in the file, found none; name one: "
        "{0}/other.py:Class",
        plugins=("other.py",),
    ),
    "a file without the class": Mistake(
        "plugin {0}/mine.py:Yours: {0}/mine.py has no Yours; its plugins: Mine",
        plugins=("mine.py:Yours",),
    ),
    "a file with a syntax error": Mistake(
        "{}/broken.py:1:11: '(' was never closed", plugins=("broken.py:Mine",)
    ),
    "a file that raises": Mistake(
        "plugin {0}/raises.py:Mine: {0}/raises.py does not load: ZeroDivisionError('division by "
        "zero') ({0}/raises.py:1)",
        plugins=("raises.py:Mine",),
    ),
    "a plugin's file that is absent": Mistake(
        "plugin {}/absent.py: no such file", plugins=("absent.py:Mine",)
    ),
    "a module that is absent": Mistake(
        "plugin no.such:Mine: no.such does not load: ModuleNotFoundError(\"No module named 'no'\")",
        plugins=("no.such:Mine",),
    ),
}

JOURNAL = str(JOURNAL_0_2_0)
#: Each command with flags that end it soon after it has read its rules.
COMMANDS = {
    "run": "run --write-config-to=/dev/null",
    "up": "up --kubeconfig {}",
    "schedule": "schedule -f {}/pods.yaml",
    "explain": "explain web --now --kubeconfig {}/kubeconfig",
    "shadow": "shadow --kubeconfig {}/absent",
    "ui": "ui --no-browser --port 0 --kubeconfig {}/absent",
    "extender": "extender --print-config",
    "manifests": "manifests",
    "manifests --extender": "manifests --extender",
    "config validate": "config validate",
    "replay": f"replay {JOURNAL}",
    "replay --history own": f"replay {JOURNAL} --history own",
    "explain --journal": f"explain trainer --journal {JOURNAL}",
    "ui --journal": f"ui --no-browser --port 0 --journal {JOURNAL}",
}
WITHOUT_GATES = {
    name for name in COMMANDS if name.startswith(("manifests", "replay", "explain --", "ui --"))
}


def command_line(command: str, mistake: Mistake, folder: Path) -> list[str] | None:
    """Return a command line with a mistake; None if the command has no such flag or goes on."""
    if (mistake.gates and command in WITHOUT_GATES) or (
        mistake.is_warning and command == "ui --journal"
    ):
        return None
    words = COMMANDS[command].format(folder).split()
    config = f"{folder}/{mistake.config}"
    if command == "config validate":
        # It reads a file in any case.
        words.append(config if mistake.config else f"{folder}/uses.yaml")
    elif mistake.config:
        words += ["--config", config]
    for plugin in mistake.plugins:
        words += ["--plugin", f"{folder}/{plugin}" if ".py" in plugin else plugin]
    return [*words, "--feature-gates", mistake.gates] if mistake.gates else words


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_commands_report_a_mistake_with_the_same_sentence(
    command: str, mistake: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    words = command_line(command, MISTAKES[mistake], tmp_path)
    if words is None:
        return
    status = main(words)
    # The log of `run` quotes it.
    shown = capfd.readouterr().err.replace('\\"', '"')
    sentence = MISTAKES[mistake].sentence.format(tmp_path)
    assert shown.count(sentence) == 1
    if not MISTAKES[mistake].is_warning:
        assert status == 1
        others = {"run": f'err="{sentence}"\n'}
        assert shown.endswith(others.get(command, f"error: {sentence}\n"))
