"""ExecPlugin: credentials that a program prints."""

# client-go: plugin/pkg/client/auth/exec/exec.go

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from mooring.api.meta import parse_time
from mooring.client.tls_settings import KeyPair, Pem
from mooring.errors import ConfigError, ObjectError
from mooring.observe.clock import Clock

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
_INFO = "KUBERNETES_EXEC_INFO"


class ExecEnvVar(msgspec.Struct, frozen=True):
    """Set one environment variable of the program."""

    name: str = ""
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Say which program to run, as `exec` in a kubeconfig does."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecEnvVar, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecPlugin:
    """Run a program for credentials, and again when they expire or the server refuses them."""

    def __init__(self, config: ExecConfig, cluster: dict[str, Any], clock: Clock) -> None:
        self.key_pair: KeyPair | None = None
        self._config = config
        self._cluster = cluster
        self._clock = clock
        self._header: str | None = None
        self._expires: float | None = None
        # The program may talk to a person, so it runs once at a time.
        self._running = asyncio.Lock()

    async def authorization(self) -> str:
        """Return the token's header; run the program where there is none that still holds."""
        if self._header is None or self._has_expired():
            async with self._running:
                if self._header is None or self._has_expired():
                    await self._run()
        assert self._header is not None
        return self._header

    async def renew(self, refused: str) -> bool:
        """Run the program, unless another request has had the credentials renewed already."""
        before = self.key_pair
        async with self._running:
            if self._header == refused and self.key_pair is before:
                await self._run()
        return self._header != refused or self.key_pair != before

    def _has_expired(self) -> bool:
        return self._expires is not None and self._clock.now() > self._expires

    async def _run(self) -> None:
        config = self._config
        interactive = self._is_interactive()
        environment = {**os.environ, **{var.name: var.value for var in config.env}}
        environment[_INFO] = self._info(interactive)
        try:
            process = await asyncio.create_subprocess_exec(
                config.command,
                *config.args,
                env=environment,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            problem = f"exec: executable {config.command} cannot be run: {error.strerror}"
            if isinstance(error, FileNotFoundError):
                problem = f"exec: executable {config.command} not found"
            hint = " ".join(config.install_hint.split())
            raise ConfigError(f"getting credentials: {problem}{hint and f'; {hint}'}") from None
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            raise self._error(
                f"executable {config.command} failed with exit code {process.returncode}"
            )
        self._take(self._decode(output))

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._config.provide_cluster_info:
            spec["cluster"] = self._cluster
        body = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        return msgspec.json.encode(body).decode()

    def _is_interactive(self) -> bool:
        mode = self._config.interactive_mode
        if mode == "Never":
            return False
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise self._error("cannot support interactive mode: standard input is not a terminal")
        return terminal

    def _decode(self, output: bytes) -> _Status:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self._error(f"decoding stdout: {error}") from None
        version = self._config.api_version
        if credential.kind != "ExecCredential" or credential.api_version != version:
            raise self._error(
                f"plugin is configured to use API version {version}, "
                f"plugin returned version {credential.api_version or 'none'}"
            )
        status = credential.status
        if status is None:
            raise self._error("plugin didn't return a status field")
        if not (status.token or status.client_certificate_data or status.client_key_data):
            raise self._error("plugin didn't return a token or cert/key pair")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("plugin returned only certificate or key, not both")
        return status

    def _take(self, status: _Status) -> None:
        expires = None
        if status.expiration_timestamp is not None:
            try:
                expires = parse_time(status.expiration_timestamp)
            except ObjectError as error:
                raise self._error(f"plugin returned an expirationTimestamp: {error}") from None
        self._expires = expires
        self._header = f"Bearer {status.token}" if status.token else ""
        self.key_pair = None
        if status.client_certificate_data:
            self.key_pair = KeyPair(
                Pem(data=status.client_certificate_data.encode()),
                Pem(data=status.client_key_data.encode()),
            )

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(f"getting credentials: exec: {problem}")
