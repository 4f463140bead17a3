"""Characters of foreign text that PostgreSQL or a browser cannot hold. Pure."""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_OVERRIDES = re.compile("[\u202d\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return ``text`` without characters that PostgreSQL or a browser cannot hold.

    NUL is dropped, a lone surrogate becomes U+FFFD, and bidirectional overrides and isolates,
    which could make a text read otherwise than it is, are dropped too.
    """
    text = _SURROGATES.sub("\ufffd", text.replace("\x00", ""))
    return _OVERRIDES.sub("", text)


def transcript(messages: list[dict]) -> str:
    """A conversation ({"role", "content"}) as one text, each message under its role."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(f"**{one['role'].capitalize()}:** {one['content']}" for one in messages)
