"""SeccompProfile as the Security Profiles Operator has it."""

from __future__ import annotations

from mooring.api import SeccompProfile, decode, encode, find_kind

RAW = {
    "apiVersion": "security-profiles-operator.x-k8s.io/v1beta1",
    "kind": "SeccompProfile",
    "metadata": {"name": "reader", "namespace": "default"},
    "spec": {
        "baseProfileName": "runc",
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": [
            {
                "names": ["read", "openat"],
                "action": "SCMP_ACT_ALLOW",
                "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}],
            },
            {"names": ["write"], "action": "SCMP_ACT_LOG", "errnoRet": "1"},
        ],
        "flags": ["SECCOMP_FILTER_FLAG_LOG"],
    },
    "status": {"status": "Installed", "localhostProfile": "operator/default/reader.json"},
}


def test_it_is_decoded_and_encoded_unchanged() -> None:
    obj = decode(RAW)
    assert isinstance(obj, SeccompProfile)
    assert obj.spec.syscalls[0].names == ("read", "openat")
    assert encode(obj) == RAW


def test_it_belongs_to_a_namespace() -> None:
    kind = find_kind("security-profiles-operator.x-k8s.io/v1beta1", "SeccompProfile")
    assert kind is not None
    assert (kind.plural, kind.namespaced) == ("seccompprofiles", True)
