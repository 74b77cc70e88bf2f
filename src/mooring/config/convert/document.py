"""Detect what a document is, and convert it."""

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import FieldError
from mooring.config.convert.converted import Conversion, Converted, Doc
from mooring.config.convert.extender_settings import fold_case
from mooring.config.convert.policy import POLICY_KIND, convert_policy
from mooring.config.convert.schema import (
    can_go_on,
    check,
    check_args,
    without_nulls,
    without_unknown,
)
from mooring.config.convert.v1alpha1 import ReadConfigMap, ReadFile, convert_v1alpha1
from mooring.config.convert.v1alpha2 import convert_v1alpha2
from mooring.config.convert.v1beta1 import convert_v1beta1
from mooring.config.convert.v1beta2 import convert_v1beta2
from mooring.config.convert.v1beta3 import convert_v1beta3
from mooring.config.defaults import API_VERSION, KIND
from mooring.config.positions import field_path
from mooring.framework.releases import NEWEST, Release

_GROUP = API_VERSION.rpartition("/")[0]
_BETAS = {
    "v1beta3": convert_v1beta3,
    "v1beta2": convert_v1beta2,
    "v1beta1": convert_v1beta1,
    "v1alpha2": convert_v1alpha2,
}
#: Older version -> the Kubernetes release that stopped reading it.
REMOVED_IN = {
    "v1beta3": "1.29",
    "v1beta2": "1.28",
    "v1beta1": "1.23",
    "v1alpha2": "1.19",
    "v1alpha1": "1.19",
}


def convert(
    doc: object,
    *,
    read_file: ReadFile | None = None,
    read_config_map: ReadConfigMap | None = None,
    release: Release = NEWEST,
) -> Converted:
    """Return the v1 form of a configuration document of any version, or of a Policy.

    The form has the meaning of the original in a scheduler of `release`.

    A document that is neither an older version nor a Policy is returned unchanged, for v1's own
    checks to judge. The two readers fetch the Policy that a v1alpha1 file may refer to.
    """
    if not isinstance(doc, dict):
        return Converted({}, [], [], {}) if doc is None else _unchanged(doc)
    if doc.get("kind") == POLICY_KIND:
        return convert_policy(doc, release)
    version = older_version(doc)
    if version is None or doc.get("kind") != KIND:
        return _unchanged(doc)
    conversion = Conversion(release)
    clean: Doc = without_nulls(doc)
    if version == "v1alpha2" and "extenders" in clean:
        clean["extenders"] = fold_case(
            conversion, clean["extenders"], "[]Extender", version, "extenders"
        )
    conversion.errors += check(clean, version)
    written: Doc = {}
    if can_go_on(conversion.errors):
        clean = without_unknown(clean, version)
        conversion.errors += _args_problems(clean, version)
    if can_go_on(conversion.errors):
        if version == "v1alpha1":
            written = convert_v1alpha1(conversion, clean, read_file, read_config_map)
        else:
            written = _BETAS[version](conversion, clean)
    api_version = clean["apiVersion"]
    text = f"{api_version} is deprecated (kube-scheduler {REMOVED_IN[version]} removed it)"
    return conversion.finish(written, text)


def older_version(doc: Doc) -> str | None:
    """Return the older version that a document claims to be, or None.

    >>> older_version({"apiVersion": "kubescheduler.config.k8s.io/v1beta2"})
    'v1beta2'
    """
    api_version = doc.get("apiVersion")
    if not isinstance(api_version, str):
        return None
    group, _, version = api_version.rpartition("/")
    return version if group == _GROUP and version in REMOVED_IN else None


def _args_problems(doc: Doc, version: str) -> list[FieldError]:
    problems: list[FieldError] = []
    profiles: list[tuple[str, Doc]] = [
        (f"profiles[{index}]", profile) for index, profile in enumerate(doc.get("profiles", []))
    ]
    for path, profile in (("", doc), *profiles):
        for index, entry in enumerate(profile.get("pluginConfig", [])):
            args: Any = entry.get("args")
            where = f"{field_path(path, 'pluginConfig')}[{index}].args"
            if args is not None:
                problems += check_args(args, entry.get("name", ""), version, where)
    return problems


def _unchanged(doc: Any) -> Converted:
    return Converted(doc, [], [], {})
