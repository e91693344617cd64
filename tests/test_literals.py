"""Secrets that are written out."""

from typing import Any

import pytest

from mcphost.literals import literal_secrets

KEY = "sk-123456789012345678901234"


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"env": {"API_KEY": KEY, "LANG": "C"}}, ("env API_KEY",)),
        ({"env": {"A": "${API_KEY}", "B_KEY": "${env:K}", "C_KEY": "$C_KEY", "D_KEY": "${input:d}"}}, ()),
        ({"env": {"A_KEY": "${A:-secret}", "B_KEY": "${B:-}"}}, ("env A_KEY",)),
        ({"env": {"OTHER": KEY}}, ("env OTHER",)),
        ({"headers": {"Authorization": "Bearer ${T}"}}, ()),
        ({"headers": {"authorization": "Bearer abc"}}, ("headers authorization",)),
        ({"args": ["--api-key", "${K}", "--token", "abc"]}, ("args[3]",)),
        ({"args": ["-H", "Authorization: Bearer ${T}"]}, ()),
        ({"url": "https://x/sse?key=abcdef"}, ("url",)),
        ({"url": "https://x/sse?key=${K}&lang=en"}, ()),
        ({"httpUrl": "https://u:p@x/"}, ("http_url",)),
        ({"auth": {"client_id": "me", "client_secret": "abc"}}, ("auth client_secret",)),
        ({"auth": {"clientSecret": "${S}", "private_key": "@key.pem", "token_url": "https://t"}}, ()),
        ({"environment": {"API_KEY": KEY}}, ("env API_KEY",)),
        ("no entry", ()),
        ({"env": ["A=b"], "args": [1, None]}, ()),
    ],
)
def test_what_is_written_out_is_found_and_variables_are_not(entry: Any, found: tuple[str, ...]):
    assert literal_secrets(entry) == found
