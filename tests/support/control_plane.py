"""A control plane for tests: etcd and kube-apiserver on free loopback ports, or a given cluster.

There is no controller manager and no kubelet; a test does by hand what those would do.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import requests

from tests.support import kubeconfigs
from tests.support.api import Api
from tests.support.certificates import Authority
from tests.support.kubeconfigs import SCHEDULER_USER, Access
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE

ADMIN_TOKEN = "admin-token"
# The token of a known user without any rights.
NOBODY_TOKEN = "nobody-token"

# These plugins need controllers that do not run, or change the pods that tests create.
ADMISSION_OFF = (
    "ServiceAccount",
    "TaintNodesByCondition",
    "StorageObjectInUseProtection",
    "DefaultTolerationSeconds",
)


class ControlPlane:
    """etcd and kube-apiserver with RBAC, which tests may kill and start again."""

    owned = True

    def __init__(
        self, folder: Path, etcd: Path, kube_apiserver: Path, *, flags: tuple[str, ...] = ()
    ) -> None:
        self._folder = folder
        #: Additional flags of kube-apiserver.
        self._flags = flags
        self._etcd_program = etcd
        self._apiserver_program = kube_apiserver
        self._authority = Authority(folder / "pki")
        self._serving = self._authority.server("kube-apiserver")
        self._service_account_key = self._authority.private_key("service-account")[1]
        self._port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self.url = f"https://{LOOPBACK}:{self._port}"
        (folder / "tokens.csv").write_text(
            f'{ADMIN_TOKEN},test-admin,1,"system:masters"\n{NOBODY_TOKEN},test-nobody,2\n'
        )
        self.access = Access(self.url, self._authority.certificate, token=ADMIN_TOKEN)
        self.admin_kubeconfig = self.kubeconfig("test-admin", groups=("system:masters",))
        self.scheduler_kubeconfig = self.kubeconfig(SCHEDULER_USER)
        self.etcd: Process
        self.kube_apiserver: Process

    @property
    def certificate_authority(self) -> Path:
        """The file of the certificate that signed all others."""
        return self._authority.certificate

    def kubeconfig(
        self,
        user: str,
        groups: tuple[str, ...] = (),
        *,
        server: str | None = None,
        expires: datetime.datetime | None = None,
    ) -> Path:
        """Write a kubeconfig for a user, who authenticates with a client certificate."""
        pair = self._authority.client(user, groups, expires)
        return kubeconfigs.write(
            pair.certificate.with_suffix(".kubeconfig"),
            {
                "server": server or self.url,
                "certificate-authority": str(self._authority.certificate),
            },
            {"client-certificate": str(pair.certificate), "client-key": str(pair.key)},
        )

    def start(self) -> None:
        """Start both processes and wait until the API server is ready."""
        self.start_etcd()
        self.start_apiserver()

    def stop(self) -> None:
        """Stop the processes that were started."""
        for name in ("kube_apiserver", "etcd"):
            if process := getattr(self, name, None):
                process.stop()

    def start_etcd(self) -> None:
        """Start etcd, with the data of the previous process if there was one."""
        client = f"http://{LOOPBACK}:{self._etcd_port}"
        peer = f"http://{LOOPBACK}:{self._peer_port}"
        arguments = [
            "--name=test",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=test={peer}",
            "--log-level=warn",
            # A killed process loses no data without fsync; only a crashed machine would.
            "--unsafe-no-fsync",
        ]
        self.etcd = Process(self._etcd_program, arguments, self._folder / "etcd.log")
        self.etcd.wait_until(lambda: _answers(f"{client}/health"), seconds=PATIENCE)

    def start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready."""
        arguments = [
            f"--etcd-servers=http://{LOOPBACK}:{self._etcd_port}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={self._port}",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self._authority.certificate}",
            f"--requestheader-client-ca-file={self._authority.certificate}",
            "--requestheader-allowed-names=test-front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._service_account_key}",
            f"--service-account-signing-key-file={self._service_account_key}",
            "--allow-privileged=true",
            f"--disable-admission-plugins={','.join(ADMISSION_OFF)}",
            "--delete-collection-workers=8",
            *self._flags,
        ]
        log = self._folder / "kube-apiserver.log"
        self.kube_apiserver = Process(self._apiserver_program, arguments, log)
        with Api(self.access) as api:
            self.kube_apiserver.wait_until(api.is_ready, seconds=PATIENCE)


class GivenCluster:
    """A cluster that already runs, given by an administrator's kubeconfig.

    Tests do not touch objects that they did not create.
    """

    owned = False

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        cluster, user = kubeconfigs.read(kubeconfig)
        self.access = kubeconfigs.access(cluster, user, folder)
        self.url = self.access.server
        self.admin_kubeconfig = kubeconfigs.write(folder / "admin.kubeconfig", cluster, user)
        self.scheduler_kubeconfig = kubeconfigs.write(
            folder / "scheduler.kubeconfig", cluster, {**user, "as": SCHEDULER_USER}
        )


def _answers(url: str) -> bool:
    with requests.Session() as session:
        session.trust_env = False
        try:
            return session.get(url, timeout=2).ok
        except requests.RequestException:
            return False
