"""The local API server as a replacement of kube-apiserver and etcd.

A harness that starts those two with their flags can start this instead:
`python local_control_plane.py etcd …` and `… kube-apiserver …`. The objects are stored in the
folder of the harness's etcd, so that a server that was killed has them when it is started again.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from cryptography.hazmat.primitives import serialization

from mooring.apiserver import bootstrap, custom_resource_definitions
from mooring.apiserver.api import Api
from mooring.apiserver.auth.certificate_authority import new_key
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.http import RequestUser
from mooring.apiserver.listener import ApiListener, tls_from_files
from mooring.apiserver.namespaces import NamespaceLifecycle
from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.resource_table import Catalogue
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.sqlite_journal import SqliteJournal
from mooring.controlplane.type_table import types


class _Health(BaseHTTPRequestHandler):
    """A server of etcd's health check, and of the path of its folder."""

    folder = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"health": "true", "folder": self.folder}).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def etcd(arguments: list[str]) -> int:
    """Serve etcd's health check only; the API server stores the objects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen-client-urls", required=True)
    parser.add_argument("--data-dir", required=True)
    options, _ = parser.parse_known_args(arguments)
    _Health.folder = str(Path(options.data_dir).absolute())
    address = urlsplit(options.listen_client_urls)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ThreadingHTTPServer((str(address.hostname), int(address.port or 0)), _Health).serve_forever()
    return 0


def kube_apiserver(arguments: list[str]) -> int:
    """Run the local API server with kube-apiserver's flags."""
    parser = argparse.ArgumentParser()
    for name in ("etcd-servers", "tls-cert-file", "tls-private-key-file", "client-ca-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--secure-port", type=int, required=True)
    parser.add_argument("--token-auth-file")
    parser.add_argument("--service-account-signing-key-file")
    parser.add_argument("--disable-admission-plugins", default="")
    parser.add_argument("--runtime-config", default="")
    parser.add_argument("--feature-gates", default="")
    options, _ = parser.parse_known_args(arguments)
    asyncio.run(_serve(options))
    return 0


def _signer(path: str | None) -> TokenSigner:
    key = serialization.load_pem_private_key(Path(path).read_bytes(), None) if path else None
    # A key of another kind cannot be used; tokens are then valid for this process only.
    return TokenSigner(key if hasattr(key, "curve") else new_key())  # type: ignore[arg-type]


async def _serve(options: argparse.Namespace) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    with urlopen(f"{options.etcd_servers}/health") as answer:
        folder = Path(json.load(answer)["folder"])
    enabled = [one.partition("=")[0] for one in options.runtime_config.split(",") if one]
    gates = (one.partition("=") for one in options.feature_gates.split(","))
    features = frozenset(name for name, _, value in gates if value == "true")
    catalogue = Catalogue(types(), enabled, features)
    cluster = ServerState(ResourceStore(SqliteJournal(folder)), catalogue, features=features)
    cluster.disabled = frozenset(options.disable_admission_plugins.split(","))
    api = Api(cluster, _signer(options.service_account_signing_key_file))
    if options.token_auth_file:
        with open(options.token_auth_file, newline="") as file:
            for token, name, uid, *groups in csv.reader(file):
                listed = tuple(one for group in groups for one in group.split(","))
                api.authenticator.static[token] = RequestUser(name, listed, uid)
    authority = Path(options.client_ca_file).read_text()
    custom_resource_definitions.load(cluster)
    bootstrap.fill(cluster, authority.encode())
    namespaces = NamespaceLifecycle(cluster)
    namespaces.start()
    server = ApiListener(api.handle)
    context = tls_from_files(
        Path(options.tls_cert_file), Path(options.tls_private_key_file), authority
    )
    await server.start("127.0.0.1", options.secure_port, context)
    await ended.wait()
    await server.stop()
    await namespaces.stop()
    cluster.store.close()


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    sys.exit({"etcd": etcd, "kube-apiserver": kube_apiserver}[role](rest))
