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

from mooring.apiserver.http import RequestUser
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

ISSUER = "https://kubernetes.default.svc"
AUDIENCES = (ISSUER, "https://kubernetes.default.svc.cluster.local")
_CLAIMS = "kubernetes.io"
_HALF = 32


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def account_user(namespace: str, name: str, uid: str, extra: Object | None = None) -> RequestUser:
    """Return the user that a service account authenticates as."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    found = {key: tuple(value) for key, value in (extra or {}).items()}
    return RequestUser(f"system:serviceaccount:{namespace}:{name}", groups, uid, found)


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
        """Return a token for a service account; `bound` is the object that it is bound to."""
        now = int(cluster.now().timestamp())
        metadata = account["metadata"]
        inner: Object = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound is not None:
            inner[bound["kind"].lower()] = {"name": bound["name"], "uid": bound["uid"]}
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
        the pod that it is bound to.
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
        if not _is_there(cluster, "/serviceaccounts", namespace, account):
            return None
        pod = inner.get("pod")
        if pod and not _is_there(cluster, "/pods", namespace, pod):
            return None
        extra: Object = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        if pod:
            extra["authentication.kubernetes.io/pod-name"] = [pod["name"]]
            extra["authentication.kubernetes.io/pod-uid"] = [pod["uid"]]
        return account_user(namespace, account["name"], account["uid"], extra)


def _is_there(cluster: ServerState, resource: str, namespace: str, reference: Object) -> bool:
    found = cluster.lookup(resource, namespace, str(reference.get("name", "")))
    return found is not None and found["metadata"]["uid"] == reference.get("uid")
