from __future__ import annotations

import pytest

from mooring.apiserver.validation.checks_by_kind import CREATES, NAMES, UPDATES
from mooring.controlplane.type_table import types
from tests.apiserver.validation.objects import made, refused, texts


@pytest.mark.parametrize("version_and_kind", CREATES, ids=" ".join)
def test_a_kind_that_is_checked_exists_and_is_checked_again_when_it_changes(
    version_and_kind: tuple[str, str],
) -> None:
    assert types().find(*version_and_kind) is not None
    assert (*version_and_kind, "") in UPDATES


def test_an_update_is_checked_as_a_new_object_unless_it_has_a_check_of_its_own() -> None:
    lease = made("coordination.k8s.io/v1", "Lease", spec={"leaseDurationSeconds": 0})
    change = UPDATES["coordination.k8s.io/v1", "Lease", ""]
    assert texts(change(lease, lease)) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    ]
    namespace = made("v1", "Namespace", spec={"finalizers": ["mine"]})
    assert CREATES["v1", "Namespace"](namespace) != []
    assert UPDATES["v1", "Namespace", ""](namespace, namespace) == []


@pytest.mark.parametrize(
    ("kind", "name", "valid"),
    [
        ("Namespace", "a.b", False),
        ("StatefulSet", "a.b", False),
        ("Service", "a.b", False),
        ("Service", "1a", True),
        ("CertificateSigningRequest", "A b/c", True),
    ],
)
def test_names_of_some_kinds(kind: str, name: str, valid: bool) -> None:
    assert (not NAMES[kind](name)) is valid


def test_a_role_s_name_may_have_colons() -> None:
    assert refused("rbac.authorization.k8s.io/v1", "Role", metadata={"name": "system:a"}) == []
