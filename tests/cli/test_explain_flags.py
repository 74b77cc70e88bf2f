from __future__ import annotations

import pytest

from mooring.cli.main import main


@pytest.mark.parametrize("flags", [["--attempt", "0"], ["--certificate-sha256", "abc"]])
def test_flags_that_are_wrong_usage(flags: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "web", *flags])
    assert ended.value.code == 2
