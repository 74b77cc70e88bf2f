from __future__ import annotations

import pytest

from mooring.cli.main import main


@pytest.mark.parametrize("text", ["soon", "0s", "-3s"])
def test_a_time_that_makes_no_sense(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["shadow", "--for", text])
    assert "argument --for: " in capsys.readouterr().err
