"""Who may use the page."""

from __future__ import annotations

import pytest

from mooring.ui.page_access import HEADERS, WRONG_HOST, WRONG_ORIGIN, PageAccess

OURS = {"Host": "127.0.0.1:8080"}


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        pytest.param(OURS, "", id="the address that is printed"),
        pytest.param({"Host": "localhost:8080"}, "", id="the same by name"),
        pytest.param({}, WRONG_HOST, id="no host"),
        pytest.param({"Host": "127.0.0.1"}, WRONG_HOST, id="no port"),
        pytest.param({"Host": "127.0.0.1:8081"}, WRONG_HOST, id="another port"),
        pytest.param({"Host": "rebound.example:8080"}, WRONG_HOST, id="a name that resolves here"),
        pytest.param({**OURS, "Origin": "http://127.0.0.1:8080"}, "", id="the page itself"),
        pytest.param({**OURS, "Origin": "http://localhost:8080"}, WRONG_ORIGIN, id="by the name"),
        pytest.param({**OURS, "Origin": "https://evil.example"}, WRONG_ORIGIN, id="a web page"),
        pytest.param({**OURS, "Origin": "null"}, WRONG_ORIGIN, id="a sandboxed page"),
        pytest.param({**OURS, "Origin": ""}, WRONG_ORIGIN, id="an empty origin"),
        pytest.param({**OURS, "Sec-Fetch-Site": "none"}, "", id="typed by the user"),
        pytest.param({**OURS, "Sec-Fetch-Site": "same-origin"}, "", id="a link of the page"),
        pytest.param(
            {**OURS, "Sec-Fetch-Site": "same-site"}, WRONG_ORIGIN, id="another port's page"
        ),
        pytest.param({**OURS, "Sec-Fetch-Site": "cross-site"}, WRONG_ORIGIN, id="a page's image"),
    ],
)
def test_where_a_request_comes_from(headers: dict[str, str], refusal: str) -> None:
    assert PageAccess(8080).refusal(headers) == refusal


def test_the_token_is_random_and_the_cookie_is_another_secret() -> None:
    one, other = PageAccess(8080), PageAccess(8080)
    token = one.url.partition("=")[2]
    assert one.url == f"http://127.0.0.1:8080/?token={token}"
    assert len(token) >= 43
    assert one.is_token(token)
    assert not other.is_token(token)
    assert not one.is_token("")
    assert not one.is_token("ü")
    value = one.cookie.partition("=")[2].partition(";")[0]
    assert one.is_cookie(value)
    assert not one.is_cookie(token)
    assert not one.is_token(value)
    assert not other.is_cookie(value)


def test_the_cookie_is_for_this_site_alone() -> None:
    name, _, attributes = PageAccess(8080, "secret").cookie.partition("=")
    assert name == "mooring-ui-8080"
    assert attributes.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Strict"]


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    rules = HEADERS["Content-Security-Policy"].split("; ")
    assert rules[0] == "default-src 'self'"
    assert "require-trusted-types-for 'script'" in rules
    assert not any("unsafe" in rule or "http" in rule for rule in rules)
