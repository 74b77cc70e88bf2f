from __future__ import annotations

from pathlib import Path

import pytest

from mooring.api.durations import Duration
from mooring.app.flag_table import ALL, KUBE_SCHEDULER
from mooring.app.flags import FlagValues, parse_flags, usage
from mooring.errors import ConfigError
from mooring.serve.serving_options import CertKey

# Name, type and default of every flag, as `kube-scheduler --help` of 1.36.4 prints them.
RECORDED = Path(__file__).with_name("kube_scheduler_flags.tsv").read_text(encoding="utf-8")


def read(*argv: str) -> FlagValues:
    return parse_flags(ALL, argv, program="kube-scheduler")


def test_every_flag_of_kube_scheduler_is_known_with_its_group_type_and_default() -> None:
    lines = []
    for group in KUBE_SCHEDULER:
        lines.append(f"# {group.title}")
        for flag in sorted(group.flags, key=lambda flag: flag.name):
            shown = flag.kind.show(flag.default)
            if flag.kind.word == "strings" or shown in ("0", "false"):
                shown = "" if shown in ("[]", "0", "false") else shown
            if shown and flag.kind.word == "string":
                shown = f'"{shown}"'
            lines.append(f"{flag.name}\t{flag.kind.word}\t{shown}")
    assert lines == RECORDED.splitlines()


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        pytest.param(["--leader-elect"], "leader-elect", True, id="a bare boolean is true"),
        pytest.param(["--leader-elect=F"], "leader-elect", False, id="booleans as Go reads them"),
        pytest.param(["--v=3"], "v", 3, id="a value after an equals sign"),
        pytest.param(["--v", "3"], "v", 3, id="a value in the next word"),
        pytest.param(["-v=3"], "v", 3, id="a short flag with an equals sign"),
        pytest.param(["-v3"], "v", 3, id="a short flag with its value attached"),
        pytest.param(["-v", "3"], "v", 3, id="a short flag with its value in the next word"),
        pytest.param(["--leader_elect=false"], "leader-elect", False, id="underscores are dashes"),
        pytest.param(["--config=a", "--config=b"], "config", "b", id="the last value counts"),
        pytest.param(["--config="], "config", "", id="an empty value"),
        pytest.param(["--bind-address="], "bind-address", "0.0.0.0", id="an empty address"),
        pytest.param(["--bind-address=::1"], "bind-address", "::1", id="an IPv6 address"),
        pytest.param(
            ["--leader-elect-lease-duration=1m30s"],
            "leader-elect-lease-duration",
            Duration.from_seconds(90),
            id="a duration",
        ),
        pytest.param(["--kube-api-qps=1.5"], "kube-api-qps", 1.5, id="a float"),
        pytest.param(
            ["--disabled-metrics=a,b", "--disabled-metrics=c"],
            "disabled-metrics",
            ("a", "b", "c"),
            id="lists grow",
        ),
        pytest.param(
            ['--disabled-metrics=a,"b,c"'],
            "disabled-metrics",
            ("a", "b,c"),
            id="an item with a comma in quotes",
        ),
        pytest.param(
            ["--requestheader-username-headers=a"],
            "requestheader-username-headers",
            ("a",),
            id="a list given takes the place of its default",
        ),
        pytest.param(
            ["--feature-gates=A=true,B=false", "--feature-gates=C=true"],
            "feature-gates",
            ("A=true", "B=false", "C=true"),
            id="feature gates grow",
        ),
        pytest.param(
            ["--allow-metric-labels=m,l=a,b", "--allow-metric-labels=m,k=c"],
            "allow-metric-labels",
            {"m,l": "a,b", "m,k": "c"},
            id="a pair with commas",
        ),
        pytest.param(
            ["--tls-sni-cert-key=a.crt,a.key:*.foo.com,foo.com", "--tls-sni-cert-key=b.crt,b.key"],
            "tls-sni-cert-key",
            (CertKey("a.crt", "a.key", ("*.foo.com", "foo.com")), CertKey("b.crt", "b.key")),
            id="certificates by name",
        ),
        pytest.param(["", "--v=1", ""], "v", 1, id="empty words are no arguments"),
    ],
)
def test_values_are_read_as_go_reads_them(argv: list[str], name: str, value: object) -> None:
    flags = read(*argv)
    assert flags[name] == value
    assert flags.given(name)
    assert not flags.given("master")


# Recorded from kube-scheduler 1.36.4.
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["--nope=3"], "unknown flag: --nope"),
        (["--le"], "unknown flag: --le"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-hx"], "unknown shorthand flag: 'x' in -x"),
        (["-v"], "flag needs an argument: 'v' in -v"),
        (["--config"], "flag needs an argument: --config"),
        (["---x"], "bad flag syntax: ---x"),
        (["--=x"], "bad flag syntax: --=x"),
        (["extra"], '"kube-scheduler" does not take any arguments, got ["extra"]'),
        (["-"], '"kube-scheduler" does not take any arguments, got ["-"]'),
        (["--", "--v=3"], '"kube-scheduler" does not take any arguments, got ["--v=3"]'),
        (
            ["--leader-elect", "false"],
            '"kube-scheduler" does not take any arguments, got ["false"]',
        ),
        (
            ["--leader-elect=maybe"],
            'invalid argument "maybe" for "--leader-elect" flag: '
            'strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["--secure-port=abc"],
            'invalid argument "abc" for "--secure-port" flag: '
            'strconv.ParseInt: parsing "abc": invalid syntax',
        ),
        (
            ["--kube-api-burst=9999999999"],
            'invalid argument "9999999999" for "--kube-api-burst" flag: '
            'strconv.ParseInt: parsing "9999999999": value out of range',
        ),
        (
            ["--kube-api-qps=x"],
            'invalid argument "x" for "--kube-api-qps" flag: '
            'strconv.ParseFloat: parsing "x": invalid syntax',
        ),
        (
            ["--bind-address=foo"],
            'invalid argument "foo" for "--bind-address" flag: failed to parse IP: "foo"',
        ),
        (
            ["--bind-address=010.0.0.1"],
            'invalid argument "010.0.0.1" for "--bind-address" flag: '
            'failed to parse IP: "010.0.0.1"',
        ),
        (
            ["--leader-elect-lease-duration=5"],
            'invalid argument "5" for "--leader-elect-lease-duration" flag: '
            'time: missing unit in duration "5"',
        ),
        (
            ["--v=-1"],
            'invalid argument "-1" for "-v, --v" flag: '
            'strconv.ParseUint: parsing "-1": invalid syntax',
        ),
        (
            ["--vmodule=x"],
            'invalid argument "x" for "--vmodule" flag: "x" does not have the pattern=N format',
        ),
        (
            ["--vmodule=a=b"],
            'invalid argument "a=b" for "--vmodule" flag: '
            'parsing verbosity in "a=b": strconv.ParseUint: parsing "b": invalid syntax',
        ),
        (
            ["--tls-curve-preferences=abc"],
            'invalid argument "abc" for "--tls-curve-preferences" flag: '
            'strconv.ParseInt: parsing "abc": invalid syntax',
        ),
        (
            ["--log-json-info-buffer-size=x"],
            'invalid argument "x" for "--log-json-info-buffer-size" flag: quantities must match '
            "the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            ["--tls-sni-cert-key=foo"],
            'invalid argument "foo" for "--tls-sni-cert-key" flag: '
            "expected comma separated certificate and key file paths",
        ),
        (
            ["--tls-sni-cert-key=a,b:"],
            'invalid argument "a,b:" for "--tls-sni-cert-key" flag: '
            "empty names list is not allowed",
        ),
        (
            ["--allow-metric-labels=foo"],
            'invalid argument "foo" for "--allow-metric-labels" flag: '
            "foo must be formatted as key=value",
        ),
        (
            ['--authorization-always-allow-paths="a'],
            'invalid argument "\\"a" for "--authorization-always-allow-paths" flag: '
            'parse error on line 1, column 3: extraneous or missing " in quoted-field',
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_gos_words(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(*argv)
    assert str(caught.value) == message


def test_values_are_shown_as_go_shows_them() -> None:
    shown = read(
        "--v=2",
        "--requestheader-username-headers=a,b",
        "--allow-metric-labels=m,l=a,b",
        "--tls-sni-cert-key=a,b:c",
        "--leader-elect-lease-duration=90s",
        "--vmodule=a=1,b=2",
    ).shown()
    assert list(shown) == sorted(shown)
    expected = {
        "v": "2",
        "requestheader-username-headers": "[a,b]",
        "allow-metric-labels": "[m,l=a,b]",
        "tls-sni-cert-key": "[a,b:c]",
        "leader-elect-lease-duration": "1m30s",
        "leader-elect": "true",
        "kube-api-qps": "50",
        "log-json-info-buffer-size": "0",
        "vmodule": "a=1,b=2",
        "tls-curve-preferences": "[]",
    }
    assert expected.items() <= shown.items()


def test_help_shows_every_flag_under_its_group_within_the_width() -> None:
    text = usage(ALL, program="kube-scheduler", width=160)
    lines = text.splitlines()
    assert lines[:2] == ["Usage:", "  kube-scheduler [flags]"]
    for group in ALL:
        assert f"{group.title} flags:" in lines
        for flag in group.flags:
            assert f"--{flag.name} " in text
    assert "  -v, --v Level" in text
    assert '(default "leases")' in text
    assert "AllAlpha=true|false (ALPHA - default=false)" in text
    assert max(map(len, lines)) <= 160
