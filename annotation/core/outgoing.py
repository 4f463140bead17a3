"""Calls to addresses that people name: only to public ones, at the address that was checked.

A name is resolved once, every address of it must be public, and the connection goes to one of
these: a second look-up could answer otherwise (DNS rebinding). No redirects, no proxies, bounded
time.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx2
from django.conf import settings
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError

URL_LIMIT = 500
# Its addresses hold one of IPv4, which is the one that is reached (RFC 6052).
NAT64 = ipaddress.ip_network("64:ff9b::/96")
# What ``is_global`` takes for public: groups, sites, and IPv6 addresses of other tunnels to IPv4.
NOT_PUBLIC = [
    ipaddress.ip_network(network)
    for network in (
        *("224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "::ffff:0:0:0/96"),
        *("64:ff9b:1::/48", "2001::/32", "2002::/16"),
    )
]


def check_url(url: str) -> httpx2.URL:
    """The URL, where it is https to some host; DomainError otherwise. Nothing is looked up."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        parsed = httpx2.URL("")
    if len(url) > URL_LIMIT or not parsed.host or parsed.userinfo:
        raise DomainError(_("Write an address like https://example.org/hook."), code="url")
    if parsed.scheme != "https" and origin(parsed) not in settings.WEBHOOK_ORIGINS:
        raise DomainError(_("The address must begin with https://."), code="url")
    return parsed


def origin(url: httpx2.URL) -> str:
    """Scheme, host and port, as the operator's list of allowed origins writes them."""
    return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")


def post(url: str, content: bytes, headers: dict[str, str]) -> int:
    """Send ``content`` by POST; the answer's status, whose body is not read.

    Raises DomainError where the address is not allowed or takes longer than WEBHOOK_SECONDS in
    all, httpx2.HTTPError where the call fails.
    """
    target = check_url(url)
    pinned = target.copy_with(host=_address(target))
    headers = {**headers, "Host": target.netloc.decode("ascii")}
    try:
        # A thread of its own: the caller's may have an event loop, in which no other can run.
        with ThreadPoolExecutor(1) as executor:
            call = _call(pinned, content, headers, target.host)
            return executor.submit(asyncio.run, call).result()
    except TimeoutError as error:
        sentence = _("The address did not answer within %(n)d s.")
        raise DomainError(sentence % {"n": settings.WEBHOOK_SECONDS}, code="slow") from error


async def _call(pinned: httpx2.URL, content: bytes, headers: dict[str, str], host: str) -> int:
    # The client's own limits hold for each read: a byte now and then would never exceed them.
    async with (
        asyncio.timeout(settings.WEBHOOK_SECONDS),
        httpx2.AsyncClient(timeout=None, trust_env=False, follow_redirects=False) as client,
        client.stream(
            "POST", pinned, content=content, headers=headers, extensions={"sni_hostname": host}
        ) as answer,
    ):
        return answer.status_code


def _address(url: httpx2.URL) -> str:
    """An address of the URL's host; DomainError unless all of them are public."""
    port = url.port or {"https": 443, "http": 80}.get(url.scheme, 0)
    try:
        rows = socket.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise DomainError(_("The host of this address is not known."), code="host") from error
    addresses = [str(row[4][0]) for row in rows]
    if not all(map(_is_public, addresses)) and origin(url) not in settings.WEBHOOK_ORIGINS:
        raise DomainError(_("This address is not a public one."), code="private")
    return addresses[0]


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.split("%")[0])
    if address in NAT64:
        address = ipaddress.IPv4Address(int(address) % 2**32)
    return address.is_global and not any(address in network for network in NOT_PUBLIC)
