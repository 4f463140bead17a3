"""Paths as logs may hold them: without the keys that open accounts or studies."""

import re

# What follows these is a key, short or long.
_AFTER = r"(?<=/invitations/)|(?<=/join/)|(?<=/crowd/)|(?<=/confirm-email/)|(?<=/reset/key/)"
# Pages below those addresses that hold no key.
_PAGES = r"(?!(?:study|returned)(?:/|$))"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:/|$)"
# Any other long segment may be a key as well, unless it is an id.
KEY = re.compile(rf"(?:{_AFTER}){_PAGES}[^/\s]+|(?<=/)(?!{_UUID})[^/\s]{{20,}}")


def masked(path: str) -> str:
    """Return ``path`` with every segment that may be a key replaced by dots."""
    return KEY.sub("...", path)
