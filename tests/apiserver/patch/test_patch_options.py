"""The options of writes."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch.patch_options import check_options
from mooring.apiserver.refusals import Refusal

START = 'PatchOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"applying": True}, "fieldManager: Required value: is required for apply patch"),
        ({"force": True}, "force: Forbidden: may not be specified for non-apply patch"),
        (
            {"field_manager": "m" * 200},
            "fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            {"field_manager": "m\n"},
            'fieldManager: Invalid value: "m\\n": invalid character U+000A (at position 1)',
        ),
        ({"dry_run": ["x"]}, 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
        (
            {"field_validation": "x"},
            'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", '
            '"Warn"',
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(Refusal) as raised:
        check_options("PatchOptions", **options)
    assert str(raised.value) == START + text


def test_good_options_are_taken() -> None:
    check_options("PatchOptions", applying=True, field_manager="m", force=True, dry_run=["All"])
