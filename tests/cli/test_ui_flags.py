from __future__ import annotations

import pytest

from mooring.cli.main import main


@pytest.mark.parametrize("text", ["-1", "65536", "http"])
def test_a_port_that_makes_no_sense(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["ui", f"--port={text}"])
    assert f'argument --port: "{text}" is not a port from 0 to 65535' in capsys.readouterr().err
