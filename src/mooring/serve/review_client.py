"""Reviews: asks the API server who owns a token and what a user may do, with a cache."""

# apiserver: plugin/pkg/authenticator/token/webhook, plugin/pkg/authorizer/webhook,
# pkg/authentication/token/cache, pkg/server/options/authentication.go

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import random
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Generic, Protocol, TypeVar

import msgspec

from mooring.errors import ApiError, NoAnswerError
from mooring.observe.clock import Clock
from mooring.serve.users import ReviewedUser

log = logging.getLogger(__name__)

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

REQUEST_SECONDS = 10.0
# The first pause is 0.5 s, each next one 1.5 times as long, plus up to 20 % jitter.
_ATTEMPTS = 5
_FIRST_PAUSE = 0.5
_FACTOR = 1.5
_JITTER = 0.2
_CACHE_SIZE = 8192

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ReviewClient(Protocol):
    """A sender of requests to an API server, such as `mooring.client.client.Client`."""

    async def request(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        retries: int = 0,
    ) -> bytes:
        """Send a request and return the body of its response; raise ApiError if it fails."""
        ...


class Access(msgspec.Struct, frozen=True):
    """The status of a SubjectAccessReview."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""

    @property
    def is_granted(self) -> bool:
        """Return whether the request is allowed, and no authorizer has denied it."""
        return self.allowed and not self.denied


class ResourceAttributes(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a user wants to do with a resource; without a name, with every object of it."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""


class _UserInfo(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _UserInfo = msgspec.field(default_factory=_UserInfo)
    error: str = ""


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessReview(msgspec.Struct):
    status: Access = Access()


class ExpiringCache(Generic[K, V]):
    """A cache of values that expire; the least recently used are dropped first."""

    def __init__(self, clock: Clock, size: int = _CACHE_SIZE) -> None:
        self._clock = clock
        self._size = size
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> tuple[V] | None:
        """Return the value in a tuple, because it may be None; None if there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock.now():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return (entry[1],)

    def put(self, key: K, value: V, seconds: float) -> None:
        """Store a value; zero seconds means not at all."""
        if seconds <= 0:
            return
        self._entries[key] = (self._clock.now() + seconds, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)


class TokenReviews:
    """TokenReviews of the API server, cached. Belongs to one event loop."""

    def __init__(self, client: ReviewClient, clock: Clock, seconds: float) -> None:
        self._client = client
        self._clock = clock
        self._seconds = seconds
        self._cache: ExpiringCache[bytes, ReviewedUser | None] = ExpiringCache(clock)
        self._asking: dict[bytes, asyncio.Task[ReviewedUser | None]] = {}
        # The cache key is a keyed hash, so that tokens themselves are not kept.
        self._secret = secrets.token_bytes(32)

    async def user(self, token: str) -> ReviewedUser | None:
        """Return the user; None for an invalid token; raise ApiError if the server fails."""
        key = hmac.digest(self._secret, token.encode(), hashlib.sha256)
        known = self._cache.get(key)
        if known is not None:
            return known[0]
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._ask(token, key))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # Several callers may wait for one review; cancelling one must not affect the others.
        return await asyncio.shield(task)

    async def _ask(self, token: str, key: bytes) -> ReviewedUser | None:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        answer = await _post(self._client, self._clock, TOKEN_REVIEWS, body)
        status = _decode(answer, _TokenReview).status
        user = None
        if status.authenticated:
            found = status.user
            user = ReviewedUser(found.username, found.uid, found.groups, found.extra)
        elif status.error:
            # A failure, not a result: it is not cached.
            raise ApiError(401, status.error, reason="Unauthorized")
        self._cache.put(key, user, self._seconds)
        return user


class AccessReviews:
    """SubjectAccessReviews of the API server, cached. Belongs to one event loop."""

    def __init__(
        self, client: ReviewClient, clock: Clock, allow_seconds: float, deny_seconds: float
    ) -> None:
        self._client = client
        self._clock = clock
        self._allow_seconds = allow_seconds
        self._deny_seconds = deny_seconds
        self._cache: ExpiringCache[bytes, Access] = ExpiringCache(clock)

    async def access(self, user: ReviewedUser, verb: str, path: str) -> Access:
        """Return the server's decision about a path; raise ApiError if it fails."""
        return await self._review(user, {"nonResourceAttributes": {"path": path, "verb": verb}})

    async def resource_access(self, user: ReviewedUser, asked: ResourceAttributes) -> Access:
        """Return the server's decision about a resource; raise ApiError if it fails."""
        return await self._review(user, {"resourceAttributes": asked})

    async def _review(self, user: ReviewedUser, asked: Mapping[str, object]) -> Access:
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            **asked,
        }
        key = msgspec.json.encode(spec, order="deterministic")
        known = self._cache.get(key)
        if known is not None:
            return known[0]
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec,
        }
        answer = await _post(self._client, self._clock, ACCESS_REVIEWS, body)
        access = _decode(answer, _AccessReview).status
        self._cache.put(key, access, self._allow_seconds if access.allowed else self._deny_seconds)
        return access


async def _post(client: ReviewClient, clock: Clock, target: str, body: object) -> bytes:
    """Send a review, with retries if the server has temporary problems."""
    encoded = msgspec.json.encode(body)
    pause = _FIRST_PAUSE
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return await client.request("POST", target, encoded, timeout=REQUEST_SECONDS, retries=0)
        except ApiError as error:
            if attempt == _ATTEMPTS or not _may_pass(error):
                raise
        await clock.sleep(pause * (1 + _JITTER * random.random()))
        pause *= _FACTOR
    raise AssertionError("the last attempt returns or raises")


def _decode(answer: bytes, kind: type[V]) -> V:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ApiError(500, f"the server's answer cannot be read: {error}") from None


def _may_pass(error: ApiError) -> bool:
    # apiserver: pkg/util/webhook/webhook.go, DefaultShouldRetry
    if isinstance(error, NoAnswerError):
        return error.sent
    return error.status in (429, 500, 504) or error.retry_after is not None
