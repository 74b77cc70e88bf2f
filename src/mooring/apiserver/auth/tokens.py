"""Service account tokens: JSON Web Tokens signed by the cluster's key."""

# kube-apiserver: pkg/serviceaccount/claims.go

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from mooring.api.timestamps import parse_time
from mooring.apiserver.http import RequestUser
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

ISSUER = "https://kubernetes.default.svc"
AUDIENCES = (ISSUER, "https://kubernetes.default.svc.cluster.local")
_CLAIMS = "kubernetes.io"
_HALF = 32
#: Seconds for which a token outlives the deletion of what it is bound to; jwt.DefaultLeeway
_LEEWAY = 60
_EXTRA = "authentication.kubernetes.io"
POD_NAME, POD_UID = f"{_EXTRA}/pod-name", f"{_EXTRA}/pod-uid"
NODE_NAME, NODE_UID = f"{_EXTRA}/node-name", f"{_EXTRA}/node-uid"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of the service accounts of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def account_user(namespace: str, name: str, uid: str, extra: Object | None = None) -> RequestUser:
    """Return the user that a service account authenticates as."""
    found = {key: tuple(value) for key, value in (extra or {}).items()}
    return RequestUser(
        f"system:serviceaccount:{namespace}:{name}", account_groups(namespace), uid, found
    )


class TokenSigner:
    """A signer and verifier of service account tokens."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._header = _text(
            json.dumps({"alg": "ES256", "kid": _text(hashlib.sha256(public).digest())}).encode()
        )

    def sign(self, claims: Object) -> str:
        """Return a signed token with the claims."""
        body = f"{self._header}.{_text(json.dumps(claims, separators=(',', ':')).encode())}"
        r, s = decode_dss_signature(self._key.sign(body.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{body}.{_text(r.to_bytes(_HALF, 'big') + s.to_bytes(_HALF, 'big'))}"

    def claims(self, token: str) -> Object | None:
        """Return the claims of a token if its signature is valid, else None."""
        try:
            body, _, signature = token.rpartition(".")
            raw = _bytes(signature)
            r, s = int.from_bytes(raw[:_HALF], "big"), int.from_bytes(raw[_HALF:], "big")
            self._key.public_key().verify(
                encode_dss_signature(r, s), body.encode(), ec.ECDSA(hashes.SHA256())
            )
            found = json.loads(_bytes(body.partition(".")[2]))
        except (InvalidSignature, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def issue(
        self,
        cluster: ServerState,
        account: Object,
        audiences: tuple[str, ...],
        seconds: int,
        bound: Object | None = None,
    ) -> str:
        """Return a token for a service account.

        `bound` has the names and UIDs, by kind in lower case, of the object that the token is
        bound to and of its node.
        """
        now = int(cluster.now().timestamp())
        metadata = account["metadata"]
        inner: Object = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        for kind, reference in (bound or {}).items():
            inner[kind] = reference
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": cluster.uid(),
            _CLAIMS: inner,
            "nbf": now,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }
        return self.sign(claims)

    def user(
        self, cluster: ServerState, token: str, audiences: tuple[str, ...] = AUDIENCES
    ) -> RequestUser | None:
        """Return the user of a token, or None.

        The token must be valid now and for one of the audiences. Its account must exist, as must
        the pod, secret or node that it is bound to.
        """
        claims = self.claims(token)
        if claims is None or claims.get("iss") != ISSUER:
            return None
        now = cluster.now().timestamp()
        if not claims.get("nbf", 0) <= now < claims.get("exp", 0):
            return None
        if not set(claims.get("aud") or ()) & set(audiences):
            return None
        inner = claims.get(_CLAIMS) or {}
        namespace, account = inner.get("namespace", ""), inner.get("serviceaccount") or {}
        pod, node = inner.get("pod") or {}, inner.get("node") or {}
        references: tuple[tuple[str, str, Object], ...] = (
            ("/serviceaccounts", namespace, account),
            ("/pods", namespace, pod),
            ("/secrets", namespace, inner.get("secret") or {}),
            # A pod's token outlives its node.
            ("/nodes", "", {} if pod else node),
        )
        for resource, where, reference in references:
            is_required = resource == "/serviceaccounts" or reference
            if is_required and not _is_there(cluster, resource, where, reference, now - _LEEWAY):
                return None
        extra: Object = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        for key, value in (
            (POD_NAME, pod.get("name")),
            (POD_UID, pod.get("uid")),
            (NODE_NAME, node.get("name")),
            (NODE_UID, node.get("uid")),
        ):
            if value:
                extra[key] = [value]
        return account_user(namespace, account["name"], account["uid"], extra)


def _is_there(
    cluster: ServerState, resource: str, namespace: str, reference: Object, since: float
) -> bool:
    """Return whether an object exists and was not deleted before a time."""
    found = cluster.lookup(resource, namespace, str(reference.get("name", "")))
    if found is None or found["metadata"]["uid"] != reference.get("uid"):
        return False
    deleted = found["metadata"].get("deletionTimestamp")
    return deleted is None or parse_time(deleted) >= since
