"""Addresses of model endpoints, as people give them."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine: `localhost` and below, 127.0.0.0/8, ::1, or no address at all."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def check_url(url: str) -> None:
    """Raises `ValueError` where `url` is no http or https URL with a host, in words that do not quote it, as
    it may hold a key."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is not a web address") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise ValueError("must begin with http:// or https://")
    if not host or re.search(r"\s", url):
        raise ValueError("names no host" if not host else "holds a space")


def clean_base_url(url: str) -> str:
    """`url` as a base URL, without a last slash, nor the path of one route, which is often pasted along.

    Raises `ValueError` with what is wrong, in words that do not quote it.
    """
    url = url.strip()
    check_url(url)
    return re.sub(r"/+(?:chat/)?completions/*$", "", url).rstrip("/")
