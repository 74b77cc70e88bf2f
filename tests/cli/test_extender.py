"""`mooring extender`: its options, what it prints, and what it refuses."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.cli.main import main
from mooring.extender import extender_server
from mooring.extender.extender_options import MAX_REQUEST, ExtenderOptions

PLUGIN = """\
from mooring import Plugin

class OnlyGpuNodes(Plugin):
    \"\"\"Keep pods on nodes with a GPU.\"\"\"

    def filter(self, state, pod, node): ...

    def score(self, state, pod, node):
        return 0

class Gang(Plugin):
    \"\"\"Let pods start together.\"\"\"

    def permit(self, state, pod, node_name): ...
"""
RULE = "--plugin=rules.py:OnlyGpuNodes"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a directory that contains a plugin."""
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(PLUGIN)
    return tmp_path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ExtenderOptions]:
    """Return the options of the extenders that the command would run."""
    found: list[ExtenderOptions] = []

    def run(options: ExtenderOptions, verbosity: Any) -> int:
        found.append(options)
        return 0

    monkeypatch.setattr(extender_server, "run_extender", run)
    return found


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["extender", RULE, *arguments, "--print-config"]) == 0
    (section,) = yaml.safe_load(capsys.readouterr().out)["extenders"]
    return section


def test_the_options_reach_the_server(served: list[ExtenderOptions]) -> None:
    assert main(["extender", RULE]) == 0
    more = ["--port=9443", "--bind-address=127.0.0.1", "--kubeconfig=k", "--client-ca-file=ca"]
    files = ["--tls-cert-file=c", "--tls-private-key-file=p", "--max-request-size=1Mi"]
    assert main(["extender", RULE, *more, *files, "--managed-resource=example.com/gpu"]) == 0
    first, second = served
    assert (first.serving.port, first.serving.bind_address) == (8443, "0.0.0.0")
    assert first.max_request == MAX_REQUEST
    assert not first.plain_http
    assert (second.serving.port, second.serving.bind_address) == (9443, "127.0.0.1")
    assert (second.serving.certificate_file, second.serving.key_file) == ("c", "p")
    assert (second.kubeconfig, second.client_ca_file, second.max_request) == ("k", "ca", 2**20)
    assert [one.name for one in second.managed_resources] == ["example.com/gpu"]


def test_the_section_for_kube_scheduler_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--port=9443") == {
        "urlPrefix": "https://localhost:9443",
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "enableHTTPS": True,
        "httpTimeout": "5s",
        "nodeCacheCapable": True,
    }
    found = printed(
        capsys,
        "--url=http://extender.example",
        "--managed-resource=example.com/gpu:ignored",
        "--managed-resource=example.com/fpga",
        "--ignorable",
        "--no-node-cache-capable",
        "--http-timeout=1500ms",
    )
    assert found["urlPrefix"] == "http://extender.example"
    assert found["managedResources"] == [
        {"name": "example.com/gpu", "ignoredByScheduler": True},
        {"name": "example.com/fpga"},
    ]
    assert found["ignorable"] is True
    assert "nodeCacheCapable" not in found
    assert found["httpTimeout"] == "1.5s"


def test_a_kept_certificate_is_verified_by_its_authority(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    first = printed(capsys, "--cert-dir=made", "--url=https://extender.example:8443")
    chain = (folder / "made" / "mooring-extender.crt").read_text()
    authority = base64.b64decode(first["tlsConfig"]["caData"]).decode()
    assert chain.endswith(authority)
    assert authority.count("BEGIN CERTIFICATE") == 1
    again = printed(capsys, "--cert-dir=made", "--url=https://extender.example:8443")
    assert again == first, "the certificate is made once"


def test_a_certificate_that_nothing_verifies_is_mentioned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["extender", RULE, "--print-config"]) == 0
    assert capsys.readouterr().out.startswith("# kube-scheduler does not verify this certificate")
    assert main(["extender", RULE, "--http", "--print-config"]) == 0
    assert capsys.readouterr().out.startswith("extenders:")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "error: no plugin to serve"),
        (["--plugin=rules.py:Gang"], "error: plugin Gang runs at Permit, which an extender cannot"),
        (["--plugin=rules.py:Nothing"], "Nothing"),
        ([RULE, "--config=missing.yaml"], "missing.yaml"),
        ([RULE, "--port=0"], "--port=0: must be from 1 to 65535"),
        ([RULE, "--bind-address=here"], "--bind-address=here: must be an IP address"),
        ([RULE, "--tls-cert-file=c"], "must be given together"),
        ([RULE, "--http", "--cert-dir=d"], "--http: without TLS, certificates cannot be used"),
        ([RULE, "--url=extender"], "--url=extender: must be an http or https URL"),
        ([RULE, "--managed-resource=gpu:often"], "must be NAME or NAME:ignored"),
        ([RULE, "--http-timeout=soon"], "--http-timeout=soon: "),
        ([RULE, "--http-timeout=0s"], "--http-timeout=0s: must be greater than 0"),
        ([RULE, "--max-request-size=much"], "--max-request-size=much: "),
        ([RULE, "--max-request-size=2Gi"], "must be from 1 byte to 1Gi"),
        ([RULE, "--feature-gates=No=true"], "No"),
        ([RULE, "--print-config", "--tls-cert-file=c", "--tls-private-key-file=k"], "c: No such"),
    ],
)
def test_what_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["extender", *arguments]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert said in output.err
