"""What looks like a secret is not shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.redact import is_secret_name, redact, redact_args, redact_url, redact_value


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://mcp.amap.com/sse?key=abc", "https://mcp.amap.com/sse?key=***"),
        ("https://mcp.amap.com/mcp?key=", "https://mcp.amap.com/mcp?key="),
        (
            "https://h/p?page=2&token=abc&x#access_token=abc",
            "https://h/p?page=2&token=***&x#access_token=***",
        ),
        ("https://mcp.map.example/mcp?ak=abc;sig=abc", "https://mcp.map.example/mcp?ak=***;sig=***"),
        ("https://user:abc@h:8443/p", "https://***@h:8443/p"),
        ("https://abc@h/p", "https://***@h/p"),
        ("http://u:a/b@h/p", "http://***"),
        ("postgres://u:abc@h/db", "postgres://***@h/db"),
        ("https://h/api/s/NjQ2MTI3abc123def456ghi/mcp", "https://h/api/s/***/mcp"),
        ("https://h/12345678-1234-1234-1234-123456789abc/sse", "https://h/***/sse"),
        ("https://h/p?x=sk-abc", "https://h/p?x=***"),
        ("https://h/p?next=https://u:abc@i/?key=abc", "https://h/p?next=https://***@i/?key=***"),
        ("https://api.example.com:8080/v1/mcp?lang=en", "https://api.example.com:8080/v1/mcp?lang=en"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("see https://u:abc@h/ and http://i?key=abc.", "see https://***@h/ and http://i?key=***"),
        ("http://[bad", "http://[bad"),
        ("no url", "no url"),
        ("", ""),
    ],
)
def test_a_url_without_its_secrets(url: str, shown: str):
    assert redact_url(url) == shown


@pytest.mark.parametrize(
    "name",
    "AMAP_MAPS_API_KEY apikey token GITHUB_PAT Authorization X-Api-Key db_password PGPASSWORD Cookie ak sk "
    "client_secret AWS_CREDENTIALS passphrase".split(),
)
def test_names_of_secrets(name: str):
    assert is_secret_name(name)
    assert redact({name: "abc"}) == {name: "***"}


@pytest.mark.parametrize("name", "PATH HOME LANG region PORT LOG_LEVEL Content-Type page".split())
def test_names_of_what_may_be_shown(name: str):
    assert redact({name: "abc"}) == {name: "abc"}


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("sk-abc", True),
        ("ghp_abc", True),
        ("github_pat_abc", True),
        ("xoxb-abc", True),
        ("AKIAABC", True),
        ("eyJhbGciOi.x", True),
        ("Bearer abc", True),
        ("0123456789abcdef0123456789abcdef", True),
        ("claude-sonnet-4-20250514", False),
        ("2025-08-01T00:00:00", False),
        ("/usr/local/share/something/long/1", False),
        ("", False),
        ("Asia/Shanghai", False),
    ],
)
def test_values_that_give_themselves_away(value: str, hidden: bool):
    assert redact_value(value) == ("***" if hidden else value)


def test_mappings_are_redacted_at_every_depth():
    mapping = {"a": {"token": "abc", "n": 1, "list": ["sk-abc", "x"]}, "auth": {"any": "abc"}, "b": None}
    assert redact(mapping) == {
        "a": {"token": "***", "n": 1, "list": ["***", "x"]},
        "auth": {"any": "***"},
        "b": None,
    }
    assert mapping["a"]["token"] == "abc"  # type: ignore[index]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--api-key", "abc", "--verbose"], ["--api-key", "***", "--verbose"]),
        (["--api-key", "-abc", "x"], ["--api-key", "***", "x"]),
        (["--token=abc", "--port=1"], ["--token=***", "--port=1"]),
        (["-e", "GITHUB_TOKEN=abc", "img"], ["-e", "GITHUB_TOKEN=***", "img"]),
        (["-e", "GITHUB_TOKEN", "img"], ["-e", "GITHUB_TOKEN", "img"]),
        (["--header", "Authorization: Bearer abc"], ["--header", "Authorization: ***"]),
        (["mcp-remote", "https://h/mcp?key=abc"], ["mcp-remote", "https://h/mcp?key=***"]),
        (["sk-abc"], ["***"]),
        (["-y", "@amap/amap-maps-mcp-server", "mcp<2"], ["-y", "@amap/amap-maps-mcp-server", "mcp<2"]),
        (["12306-mcp-server-extended", "C:\\x", "--dir", "/a b"],) * 2,
        ([], []),
    ],
)
def test_arguments_without_their_secrets(args: list[str], shown: list[str]):
    assert redact_args(args) == shown


@given(
    st.text(st.sampled_from("ab:/@?&=#.-%[]"), max_size=12),
    st.text(st.sampled_from("ab:/@?&=#.-%[] "), max_size=12),
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_redacted_without_failing(before: str, after: str):
    url = f"{before}https://h/?token=S3CRET{after}"
    assert "S3CRET" not in redact_url(url)
    redact_args([url, before, after])


LONG = 50_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" * LONG, "a" * LONG),
        ("a1" * LONG, "***"),
        ("a1" * LONG + "!", "a1" * LONG + "!"),
        ("a://" * LONG, "a://" * LONG),
        ("?" * LONG, "?" * LONG),
        ("https://" + "@" * LONG, "https://***@"),
        ("https://h/?a=1" + "&key=S3CRET" * LONG, "https://h/?a=1" + "&key=***" * LONG),
    ],
    ids=lambda text: text[:12],
)
def test_long_texts_are_redacted_like_short_ones(text: str, shown: str):
    assert redact_value(text) == shown
    assert redact_args([text]) == [shown]
