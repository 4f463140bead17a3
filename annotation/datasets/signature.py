"""Signatures of releases, as minisign writes and verifies them: of manifest.json, which lists the
SHA-256 of every other file. The key is derived from the installation's secret key."""

import base64
import hashlib
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from annotation.core.errors import DomainError

MANIFEST, SIGNATURE = "manifest.json", "manifest.json.minisig"
COMMENT, TRUSTED = "untrusted comment: ", "trusted comment: "
FILE_LIMIT = 4096


def public_key() -> str:
    """This installation's key, as `minisign -P` takes it."""
    key = _own_key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(b"Ed" + _id_of(key) + key).decode()


def sign(folder: Path, about: str) -> None:
    """Write the signature of the folder's manifest; ``about`` is a line that is signed, too."""
    key, data = _own_key(), (folder / MANIFEST).read_bytes()
    signature = key.sign(hashlib.blake2b(data).digest())
    comment = f"{about}, key {public_key()}"
    whole = key.sign(signature + comment.encode())
    head = b"ED" + base64.b64decode(public_key())[2:10]
    lines = [
        f"{COMMENT}signature of {MANIFEST} by Attune",
        base64.b64encode(head + signature).decode(),
        f"{TRUSTED}{comment}",
        base64.b64encode(whole).decode(),
    ]
    (folder / SIGNATURE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def signer(folder: Path) -> str:
    """The public key that the folder's signature names and is of; "" where it has no signature.

    DomainError for a signature that is not of this manifest. Whose the key is, nobody but its
    owner can say: compare it with the one that they publish.
    """
    path = folder / SIGNATURE
    if not path.is_file():
        return ""
    wrong = DomainError(f"is not the signature of this {MANIFEST}", code="signature")
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise wrong
        _untrusted, first, comment, second = path.read_text(encoding="utf-8").splitlines()
        comment = comment.removeprefix(TRUSTED)
        named = comment.rpartition(" key ")[2]
        key, head = base64.b64decode(named, validate=True), base64.b64decode(first, validate=True)
        if key[:2] != b"Ed" or head[:2] != b"ED" or key[2:10] != head[2:10]:
            raise wrong
        public, signature = Ed25519PublicKey.from_public_bytes(key[10:]), head[10:]
        public.verify(signature, hashlib.blake2b((folder / MANIFEST).read_bytes()).digest())
        public.verify(base64.b64decode(second, validate=True), signature + comment.encode())
    except (ValueError, InvalidSignature) as error:
        raise wrong from error
    return named


def _own_key() -> Ed25519PrivateKey:
    derived = HKDF(SHA256(), 32, salt=None, info=b"attune release")
    return Ed25519PrivateKey.from_private_bytes(derived.derive(settings.SECRET_KEY.encode()))


def _id_of(key: bytes) -> bytes:
    """How minisign tells keys apart: eight bytes that mean nothing."""
    return hashlib.sha256(key).digest()[:8]
