from __future__ import annotations

from tests.apiserver.defaults.objects import defaulted


def test_text_of_a_secret_becomes_data() -> None:
    secret = defaulted("v1", "Secret", data={"a": "YQ=="}, stringData={"a": "b"})
    assert secret["data"] == {"a": "Yg=="}
    assert "stringData" not in secret
