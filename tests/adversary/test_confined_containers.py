"""Containers of `--image NAME=PLUGIN`: nothing of a pod loads other code or leaves its folder.

Every attack leaves a mark on this machine if it succeeds. Those that load code leave it without the
confinement, which shows that they work.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.image_contents import Image
from mooring.observe.clock import SystemClock
from tests.support.waiting import PATIENCE

OWNER = """
import os
from mooring import Plugin

{more}
class Mine(Plugin):
    def filter(self, state, pod, node):
        return None

print("the owner's plugin", flush=True)
"""
EVIL = """
import pathlib
from mooring import Plugin

pathlib.Path({mark!r}).touch()

class Evil(Plugin):
    def filter(self, state, pod, node):
        return None
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: "{kubeconfig}"}}
profiles:
  - plugins: {{filter: {{enabled: [{{name: "{plugin}"}}]}}}}
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users:
  - name: u
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: touch
        args: ["{mark}"]
        interactiveMode: Never
"""
RUNS = ("--leader-elect=false", "--secure-port=0", "--master=https://127.0.0.1:1")


class Container:
    """A container whose files an attacker has chosen."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.mark = folder / "mark"
        self.owner = folder / "owner"
        self.owner.mkdir()
        self.log = ""
        self.plugin("")
        self.write("/info/p.py", EVIL.format(mark=str(self.mark)))
        self.write("/info/exec.yaml", KUBECONFIG.format(mark=self.mark))

    def plugin(self, more: str) -> None:
        """Write the owner's plugin."""
        (self.owner / "mine.py").write_text(OWNER.format(more=more))

    @property
    def confined(self) -> Image:
        return Image((f"{self.owner}/mine.py:Mine",))

    def write(self, name: str, text: str) -> None:
        """Write a file of the container."""
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def run(
        self,
        words: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        working: str = "/",
        image: Image | None = None,
    ) -> int | None:
        """Run the container until it ends, or until it looks for its API server in vain."""
        self.root.mkdir(exist_ok=True)
        ended = asyncio.Event()
        log = ContainerLog(self.root.parent / "log", SystemClock())
        process = ContainerProcess(log, ended.set)
        chosen = self.confined if image is None else image
        await process.start(words, environment or {}, self.root, working, chosen)
        try:
            async with asyncio.timeout(PATIENCE):
                while not ended.is_set() and "Failed to watch" not in log.tail_text(1000, 10**6):
                    await asyncio.sleep(0.02)
        finally:
            await process.close(5.0)
            self.log = log.tail_text(1000, 10**6)
            log.remove()
        return process.exit_code


@pytest.fixture
def container(tmp_path: Path) -> Container:
    """Return a container with a plugin of its own in /info/p.py."""
    return Container(tmp_path)


REFUSED = "`mooring up --image NAME=PLUGIN` runs that plugin alone"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--plugin=/info/p.py:Evil"], id="one word"),
        pytest.param(["--plugin", "/info/p.py:Evil"], id="two words"),
        pytest.param(["--plugin=/info/p.py"], id="a file alone"),
        pytest.param(["--v=1", *RUNS, "--plugin=info/p.py:Evil"], id="a relative path"),
        pytest.param(["--plugin=/tmp/../info/p.py:Evil"], id="a path with dots"),
        pytest.param(["--plugin=NodeName,/info/p.py:Evil"], id="in a list"),
        pytest.param(["--plugin=p:Evil"], id="a module of the working directory"),
    ],
)
async def test_the_plugin_flag_is_refused(container: Container, words: list[str]) -> None:
    assert await container.run(["run", *words], working="/info") == 1
    assert f"--plugin is refused: {REFUSED}" in container.log
    assert not container.mark.exists()


@pytest.mark.parametrize(
    "words",
    [["--plug=/info/p.py:Evil"], ["@/info/args"], ["--", "--plugin=/info/p.py:Evil"]],
    ids=" ".join,
)
async def test_no_other_spelling_is_the_plugin_flag(container: Container, words: list[str]) -> None:
    container.write("/info/args", "--plugin=/info/p.py:Evil\n")
    assert await container.run(["run", *RUNS, *words], working="/info") == 1
    assert "Error: " in container.log
    assert not container.mark.exists()


async def test_the_plugin_flag_loads_code_in_an_image_without_a_plugin(
    container: Container,
) -> None:
    await container.run(["run", "--plugin=/info/p.py:Evil", *RUNS], image=Image())
    assert container.mark.exists()


@pytest.mark.parametrize(
    ("flag", "path"),
    [
        ("journal", "/journal"),
        ("journal", "../../../../../../../../../../../../{host}/journal"),
        ("write-config-to", "/config.yaml"),
        ("write-config-to", "../../../../../../../../../../../../{host}/config.yaml"),
    ],
)
async def test_flags_that_write_files_are_refused(
    container: Container, tmp_path: Path, flag: str, path: str
) -> None:
    before = set(tmp_path.rglob("*.yaml"))
    assert await container.run(["run", f"--{flag}={path.format(host=container.owner)}"]) == 1
    assert f"--{flag} is refused: {REFUSED}" in container.log
    assert set(tmp_path.rglob("*.yaml")) == before
    assert sorted(one.name for one in container.owner.iterdir()) == ["mine.py"]
    assert not (container.root / "journal").exists()


@pytest.mark.parametrize("path", ["{host}/certificates", "../../../../../../../../..{host}/c"])
async def test_certificates_are_written_inside_the_container(
    container: Container, path: str
) -> None:
    folder = path.format(host=container.owner)
    words = ["run", "--leader-elect=false", "--secure-port=1", f"--cert-dir={folder}"]
    await container.run([*words, "--master=https://127.0.0.1:1"], working="/info")
    assert sorted(one.name for one in container.owner.iterdir()) == ["mine.py"]


def exec_flags() -> list[list[str]]:
    serving = ["--leader-elect=false", "--master=https://127.0.0.1:1", "--secure-port=1"]
    return [
        ["--kubeconfig=/info/exec.yaml"],
        ["--kubeconfig=exec.yaml"],
        ["--config=/info/config.yaml"],
        [*serving, "--authentication-kubeconfig=/info/exec.yaml"],
        [*serving, "--authorization-kubeconfig=/info/exec.yaml"],
    ]


@pytest.mark.parametrize("flags", exec_flags(), ids=lambda flags: flags[-1].partition("=")[0])
async def test_a_kubeconfig_with_a_program_is_refused(
    container: Container, flags: list[str]
) -> None:
    config = CONFIG.format(kubeconfig="/info/exec.yaml", plugin="NodeName")
    container.write("/info/config.yaml", config)
    assert await container.run(["run", *flags], working="/info") == 1
    assert f"exec of u is refused: {REFUSED}" in container.log
    assert not container.mark.exists()


async def test_a_program_of_kubeconfig_variable_is_refused(container: Container) -> None:
    environment = {"KUBECONFIG": "/info/exec.yaml"}
    assert await container.run(["run", "--leader-elect=false"], environment) == 1
    assert f"exec of u is refused: {REFUSED}" in container.log
    assert not container.mark.exists()


async def test_a_program_of_a_kubeconfig_runs_in_an_image_without_a_plugin(
    container: Container,
) -> None:
    flags = ["--kubeconfig=/info/exec.yaml", "--leader-elect=false", "--secure-port=0"]
    await container.run(["run", *flags], image=Image())
    assert container.mark.exists()


@pytest.mark.parametrize(
    "plugin", ["/info/p.py:Evil", "p:Evil", "p", "Evil", "p.Evil", "Installed"]
)
async def test_a_configuration_loads_nothing(
    container: Container, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: str
) -> None:
    install(container, tmp_path / "site", monkeypatch)
    container.write("/info/config.yaml", CONFIG.format(kubeconfig="", plugin=plugin))
    assert await container.run(["run", "--config=config.yaml"], working="/info") == 1
    assert "is not registered" in container.log
    assert not container.mark.exists()


async def test_installed_packages_are_loaded_in_an_image_without_a_plugin(
    container: Container, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(container, tmp_path / "site", monkeypatch)
    await container.run(["run", *RUNS], image=Image())
    assert container.mark.exists()


def install(container: Container, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a plugin on this machine."""
    package = site / "installed_rules-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-rules\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[mooring.plugins]\nInstalled = installed_rule:Evil\n"
    )
    (site / "installed_rule.py").write_text(EVIL.format(mark=str(container.mark)))
    monkeypatch.syspath_prepend(str(site))


#: Modules that Python or its libraries look for, at start or later, if they are there.
WANTED = (
    "sitecustomize",
    "usercustomize",
    "yaml",
    "numpy",
    "json",
    "re",
    "uvloop",
    "mooring",
    "mine",
)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONPATH": "{info}"},
        {"PYTHONHOME": "{info}"},
        {"PYTHONUSERBASE": "{info}", "HOME": "{info}"},
        {"PYTHONSTARTUP": "{info}/p.py", "PYTHONINSPECT": "1"},
        {"PYTHONWARNINGS": "error::p.Evil", "PYTHONPATH": "{info}"},
        {"PYTHONBREAKPOINT": "p.Evil", "PYTHONPYCACHEPREFIX": "{info}"},
        {"COVERAGE_PROCESS_START": "{info}/coveragerc", "PYTHONPATH": "{info}"},
        {"MOORING_CONFINED": "", "MOORING_ROOT": "/", "MOORING_WORKING_FOLDER": "/"},
        {"PATH": "{info}", "LD_LIBRARY_PATH": "{info}", "LD_PRELOAD": "{info}/p.so"},
        {"OPENSSL_CONF": "{info}/p.py", "OPENSSL_MODULES": "{info}"},
    ],
    ids=lambda environment: next(iter(environment)),
)
async def test_no_variable_loads_code(container: Container, environment: dict[str, str]) -> None:
    evil = EVIL.format(mark=str(container.mark))
    for name in WANTED:
        container.write(f"/info/{name}.py", evil)
        container.write(f"/info/lib/python3.{sys.version_info[1]}/{name}.py", evil)
    info = str(container.root / "info")
    given = {name: value.format(info=info) for name, value in environment.items()}
    await container.run(["run", *RUNS], given, working="/info")
    assert "the owner's plugin" in container.log
    assert "Failed to watch" in container.log
    assert "PRELOAD" not in container.log
    assert not container.mark.exists()


@pytest.mark.parametrize(
    "environment", [{"A=B": "x"}, {"": "x"}, {"A\0": "x"}, {"A": "x\0y"}], ids=repr
)
async def test_a_variable_that_no_process_can_have_is_one_line(
    container: Container, environment: dict[str, str]
) -> None:
    assert await container.run(["run", *RUNS], environment) == 1
    (line,) = container.log.splitlines()
    assert "error: a process cannot have the environment variable " in line


@pytest.mark.parametrize("image", ["confined", "free"])
async def test_no_variable_makes_a_library_write_files(container: Container, image: str) -> None:
    names = ("TMPDIR", "TEMP", "TMP")
    environment = dict.fromkeys(names, str(container.owner))
    if image == "confined":
        more = ("SSLKEYLOGFILE", "PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir")
        environment |= dict.fromkeys(more, str(container.owner / "written"))
    chosen = container.confined if image == "confined" else Image()
    (container.owner / "written").mkdir()
    await container.run(["run", *RUNS], environment, image=chosen)
    assert not list((container.owner / "written").iterdir())
    assert {one.name for one in container.owner.iterdir()} <= {"mine.py", "written", "__pycache__"}


async def test_a_file_at_the_path_of_the_owners_plugin_is_not_loaded(container: Container) -> None:
    evil = EVIL.format(mark=str(container.mark)).replace("Evil", "Mine")
    container.write(f"{container.owner}/mine.py", evil)
    await container.run(["run", *RUNS])
    assert "the owner's plugin" in container.log
    assert not container.mark.exists()


@pytest.mark.parametrize("late", [False, True], ids=["at once", "in a function"])
async def test_what_the_owners_plugin_imports_is_the_owners(
    container: Container, late: bool
) -> None:
    start = "import rule, missing_rule" if late else "import rule"
    body = f"try:\n    {start}\nexcept ImportError as error:\n    print(error)\n"
    container.plugin(body)
    (container.owner / "rule.py").write_text("print('the owner rule')")
    for name in ("rule", "missing_rule"):
        container.write(f"/info/{name}.py", EVIL.format(mark=str(container.mark)))
    await container.run(["run", *RUNS], working="/info")
    assert "the owner rule" in container.log
    assert not container.mark.exists()


async def test_a_module_in_the_working_directory_does_not_replace_an_installed_plugin(
    container: Container, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "installed_mine.py").write_text(OWNER.format(more=""))
    monkeypatch.syspath_prepend(str(site))
    container.write("/info/installed_mine.py", EVIL.format(mark=str(container.mark)))
    image = Image(("installed_mine:Mine",))
    await container.run(["run", *RUNS], working="/info", image=image)
    assert "the owner's plugin" in container.log
    assert not container.mark.exists()


@pytest.mark.parametrize(
    "flag",
    ["config", "kubeconfig", "policy-config-file", "tls-cert-file", "client-ca-file"],
)
@pytest.mark.parametrize("path", ["{secret}", "../../../../../../../../../../../..{secret}"])
async def test_the_owners_files_are_not_read(container: Container, flag: str, path: str) -> None:
    secret = container.owner / "secret"
    secret.write_text("kind: [the secret of the owner\n")
    words = ["run", f"--{flag}={path.format(secret=secret)}", "--leader-elect=false"]
    await container.run(
        [*words, "--secure-port=1"], {"HOME": str(container.owner)}, working="/info"
    )
    assert "the secret" not in container.log


async def test_label_manifests_are_read_inside_the_container(container: Container) -> None:
    secret = container.owner / "secret"
    secret.write_text("the secret of the owner")
    await container.run(["run", f"--allow-metric-labels-manifest={secret}", *RUNS])
    assert "Failed to read allow list manifest" in container.log
    assert "the secret" not in container.log


@pytest.mark.parametrize("image", ["confined", "free"])
async def test_a_process_finds_nothing_of_the_owner_in_its_environment(
    container: Container, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    secrets = ("KUBECONFIG", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "USER")
    for name in (*secrets, "HOME"):
        monkeypatch.setenv(name, f"{container.owner}/of-the-owner")
    container.plugin("print(sorted(os.environ.items()), open('/proc/self/environ').read())\n")
    plugin = f"{container.owner}/mine.py:Mine"
    words = ["run", *RUNS]
    chosen = container.confined
    if image == "free":
        # Inside the container the plugin has the same path.
        container.write(plugin.removesuffix(":Mine"), (container.owner / "mine.py").read_text())
        words, chosen = [*words, f"--plugin={plugin}"], Image()
    await container.run(words, {"LEVEL": "3"}, image=chosen)
    assert "('LEVEL', '3')" in container.log
    assert f"('HOME', '{container.root}')" in container.log
    assert "of-the-owner" not in container.log
    for name in secrets:
        assert f"'{name}'" not in container.log
    assert os.environ["HOME"] == f"{container.owner}/of-the-owner"
