"""How the client authenticates to the server."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mooring.client.credentials import Static, TokenFile, basic, bearer
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from tests.client.fakes import SettableClock


@pytest.mark.parametrize(
    ("credentials", "header"),
    [(Static(), ""), (bearer("t"), "Bearer t"), (basic("ada", "p:w"), "Basic YWRhOnA6dw==")],
    ids=["nobody", "a token", "name and password"],
)
async def test_what_never_changes(credentials: Static, header: str) -> None:
    assert await credentials.authorization() == header == credentials.known()
    assert await credentials.renew(header) is False
    assert credentials.key_pair is None


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    clock = VirtualClock()
    credentials = TokenFile(str(file), clock)
    file.write_text("two")
    clock.advance(59.0)
    assert await credentials.authorization() == "Bearer one"
    clock.advance(1.0)
    assert await credentials.authorization() == "Bearer two"


async def test_a_refused_token_is_looked_up_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(str(file), VirtualClock())
    assert not await credentials.renew("Bearer one")
    file.write_text("two")
    assert await credentials.renew("Bearer one")
    assert await credentials.authorization() == "Bearer two"


@pytest.mark.parametrize("content", [None, "", b"\xff"], ids=["gone", "empty", "no text"])
async def test_a_token_is_kept_while_its_file_is_unreadable(
    tmp_path: Path, content: str | bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    clock = VirtualClock()
    credentials = TokenFile(str(file), clock)
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    clock.advance(61.0)
    with caplog.at_level(logging.ERROR):
        assert await credentials.authorization() == "Bearer one"
    assert "Unable to rotate token" in caplog.text


def test_a_token_file_must_be_readable_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"failed to read token file .*: No such file"):
        TokenFile(str(tmp_path / "token"), VirtualClock())
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConfigError, match="read empty token"):
        TokenFile(str(tmp_path / "token"), VirtualClock())


async def test_a_clock_set_back_has_a_token_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    clock = SettableClock(start=1000.0)
    credentials = TokenFile(str(file), clock)
    file.write_text("two")
    clock.set(940.0)
    assert credentials.known() == "Bearer two"
    # It was read now, and is not read again soon.
    file.write_text("three")
    clock.advance(59.0)
    assert credentials.known() == "Bearer two"


def test_a_token_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is not text"):
        TokenFile(str(tmp_path / "token"), VirtualClock())
