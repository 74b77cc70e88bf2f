"""Attacks on the rights that the API server gives; kube-apiserver responds alike to each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adversary import object_attacks, path_attacks, rights_attacks, user_attacks
from tests.adversary.attack_steps import Side
from tests.support import local_control_plane
from tests.support.control_plane import ControlPlane
from tests.support.fixtures import run_control_plane

ATTACKS = {
    **rights_attacks.ATTACKS,
    **path_attacks.ATTACKS,
    **user_attacks.ATTACKS,
    **object_attacks.ATTACKS,
}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    programs = Path(local_control_plane.__file__).parent
    plane = ControlPlane(
        tmp_path_factory.mktemp("local"),
        programs / "local-etcd",
        programs / "local-kube-apiserver",
    )
    try:
        plane.start()
        side = Side(plane, ATTACKS)
        yield side
        side.close()
    finally:
        plane.stop()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with run_control_plane(tmp_path_factory.mktemp("real")) as plane:
        side = Side(plane, ATTACKS)
        yield side
        side.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_meets_its_codes(local: Side, name: str) -> None:
    codes = [step.code for step in ATTACKS[name].steps]
    assert [one.code for one in local.outcomes(name)] == codes, local.outcomes(name)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_meets_the_answers_of_kube_apiserver(local: Side, real: Side, name: str) -> None:
    steps = ATTACKS[name].steps
    shown = [
        (step.method, step.path, one.code, one.text if step.same_text else "")
        for step, one in zip(steps, real.outcomes(name), strict=True)
    ]
    ours = [
        (step.method, step.path, one.code, one.text if step.same_text else "")
        for step, one in zip(steps, local.outcomes(name), strict=True)
    ]
    assert [code for _, _, code, _ in shown] == [step.code for step in steps], shown
    assert ours == shown


#: Name and groups of a certificate, and the token that is sent besides.
CERTIFICATES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a certificate alone": ("ann", ("devs",), ""),
    "a certificate and another user's token": ("ann", (), "admin"),
    "a certificate and an invalid token": ("ann", (), "invalid"),
    "a certificate of the anonymous user": ("system:anonymous", (), ""),
    "a certificate of an unauthenticated user": ("bob", ("system:unauthenticated",), ""),
    "a certificate of a service account": ("system:serviceaccount:victim:default", (), ""),
}


@pytest.mark.parametrize(("user", "groups", "token"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificate_precedes_a_token(
    local: Side, user: str, groups: tuple[str, ...], token: str
) -> None:
    found = local.with_certificate(user, groups, token)
    assert f'"{user}"' in found["message"] if "message" in found else found["username"] == user


@pytest.mark.parametrize(("user", "groups", "token"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificate_counts_as_with_kube_apiserver(
    local: Side, real: Side, user: str, groups: tuple[str, ...], token: str
) -> None:
    ours = local.with_certificate(user, groups, token)
    assert ours == real.with_certificate(user, groups, token)
