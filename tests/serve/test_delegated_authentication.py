from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cryptography import x509
from multidict import CIMultiDict, CIMultiDictProxy

from mooring.errors import ApiError
from mooring.observe.clock import VirtualClock
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.certificates import read_authorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.review_client import TokenReviews
from mooring.serve.serving_options import Authentication, RequestHeaders
from mooring.serve.users import ANONYMOUS, ReviewedUser
from tests.serve.fake_api import FakeApi
from tests.support.certificates import Authority


def headers(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


def bearer(token: str) -> CIMultiDictProxy[str]:
    return headers(("Authorization", f"Bearer {token}"))


def authenticator(
    api: FakeApi | None = None,
    *,
    clients: Path | None = None,
    proxies: Path | None = None,
    clock: VirtualClock | None = None,
    **header_settings: tuple[str, ...],
) -> DelegatingAuthenticator:
    settings = Authentication(request_headers=RequestHeaders(**header_settings))
    authorities = ClientAuthorities(settings)
    if clients is not None:
        authorities.clients = read_authorities(str(clients))
    if proxies is not None:
        authorities.proxies = read_authorities(str(proxies))
    tokens = None if api is None else TokenReviews(api, clock or VirtualClock(), 10)
    return DelegatingAuthenticator(authorities, tokens)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "one")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "two")


JANE = {"status": {"authenticated": True, "user": {"username": "jane", "groups": ["devs"]}}}


@pytest.mark.parametrize(
    "given",
    [
        headers(),
        headers(("Authorization", "Basic abc")),
        headers(("Authorization", "Bearer ")),
        headers(("Authorization", "Bearer")),
    ],
    ids=["nothing", "another scheme", "an empty token", "no token"],
)
async def test_who_claims_nothing_is_anonymous(given: CIMultiDictProxy[str]) -> None:
    assert await authenticator(FakeApi()).user(given, None) == ANONYMOUS


async def test_a_token_is_reviewed_and_remembered() -> None:
    clock, api = VirtualClock(), FakeApi()
    api.answers = [JANE]
    who = authenticator(api, clock=clock)
    expected = ReviewedUser("jane", groups=("devs", "system:authenticated"))
    assert await who.user(bearer("t"), None) == expected
    clock.advance(9)
    assert await who.user(bearer("t"), None) == expected
    [(target, body)] = api.asked
    assert target == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert body["spec"] == {"token": "t"}
    clock.advance(1)
    api.answers = [{"status": {"authenticated": False}}]
    assert await who.user(bearer("t"), None) is None
    assert await who.user(bearer("t"), None) is None
    assert len(api.asked) == 2


async def test_several_who_show_one_token_ask_once() -> None:
    api = FakeApi()
    api.answers = [JANE]
    who = authenticator(api)
    found = await asyncio.gather(*(who.user(bearer("t"), None) for _ in range(5)))
    assert [user and user.name for user in found] == ["jane"] * 5
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"status": {"authenticated": False}},
        {"status": {"error": "invalid bearer token"}},
        ApiError(403, "may not review"),
    ],
    ids=["nobody's", "an error in the answer", "a refusal"],
)
async def test_a_token_that_proves_nothing_is_refused(answer: object) -> None:
    api = FakeApi()
    api.answers = [answer]
    assert await authenticator(api).user(bearer("t"), None) is None


async def test_failures_are_not_remembered() -> None:
    api = FakeApi()
    api.answers = [{"status": {"error": "hiccup"}}, JANE]
    who = authenticator(api)
    assert await who.user(bearer("t"), None) is None
    assert await who.user(bearer("t"), None) is not None


async def test_tokens_count_for_nothing_where_nobody_can_review_them() -> None:
    assert await authenticator().user(bearer("t"), None) == ANONYMOUS


async def test_a_certificate_names_user_and_groups(authority: Authority) -> None:
    shown = load(authority.client("jane", ("devs", "ops")).certificate)
    user = await authenticator(clients=authority.certificate).user(headers(), shown)
    assert user is not None
    assert (user.name, user.groups) == ("jane", ("devs", "ops", "system:authenticated"))
    [fingerprint] = user.extra["authentication.kubernetes.io/credential-id"]
    assert fingerprint.startswith("X509SHA256=")


async def test_a_strangers_certificate_is_refused_unless_a_token_helps(
    authority: Authority, stranger: Authority
) -> None:
    shown = load(stranger.client("jane").certificate)
    api = FakeApi()
    who = authenticator(api, clients=authority.certificate)
    assert await who.user(headers(), shown) is None
    api.answers = [JANE]
    user = await who.user(bearer("t"), shown)
    assert user is not None and user.name == "jane"


async def test_a_certificate_counts_for_nothing_where_no_authority_is_known(
    authority: Authority,
) -> None:
    shown = load(authority.client("jane").certificate)
    assert await authenticator().user(headers(), shown) == ANONYMOUS


NAMED = headers(
    ("X-Remote-User", "jane"),
    ("X-Remote-Group", "devs"),
    ("X-Remote-Group", "ops"),
    ("X-Remote-Extra-Acme.com%2Fscopes", "a"),
    ("X-Remote-Extra-Acme.com%2Fscopes", "b"),
    ("X-Remote-Uid", "7"),
)


async def test_a_proxy_may_say_who_asks(authority: Authority, stranger: Authority) -> None:
    shown = load(authority.client("proxy").certificate)
    who = authenticator(
        proxies=authority.certificate,
        clients=stranger.certificate,
        allowed_names=("proxy",),
        uid_headers=("x-remote-uid",),
    )
    assert await who.user(NAMED, shown) == ReviewedUser(
        "jane", "7", ("devs", "ops", "system:authenticated"), {"acme.com/scopes": ("a", "b")}
    )


async def test_not_everybody_is_a_proxy(authority: Authority, stranger: Authority) -> None:
    who = authenticator(
        proxies=authority.certificate, clients=stranger.certificate, allowed_names=("proxy",)
    )
    other = load(authority.client("other").certificate)
    assert await who.user(NAMED, other) is None
    # The identity of a client comes from its certificate, whatever its headers say.
    client = load(stranger.client("bob").certificate)
    user = await who.user(NAMED, client)
    assert user is not None and user.name == "bob"
    assert await who.user(NAMED, None) == ANONYMOUS
