"""Signatures of messages as Standard Webhooks defines them (standardwebhooks.com, version 1)."""

import base64
import hashlib
import hmac


def sign(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """The header ``webhook-signature``: HMAC-SHA256 over id, time (seconds) and body.

    ``secret`` is "whsec_" and the key in base64.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()
