"""What became of a release since somebody fetched it: a feed at its id, and who asks it."""

import hashlib
import json
from pathlib import Path

import httpx2
from django.urls import reverse

from annotation.core.errors import DomainError
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.models import Release

SECONDS = 20
MOST = 1_000_000  # bytes


def path_of(release: Release) -> str:
    """Where the feed stands, for everybody who knows the release's id."""
    return reverse("release-feed", args=[release.public_id])


def feed(release: Release, address: str) -> dict:
    """A JSON Feed with an item for each revision: which files it stands for, when and why."""
    title = f"{release.study.title}, release {release.version}"
    items = [
        {
            "id": entry["digest"],
            "title": f"Release {entry['version']} is written again: do not use it any more.",
            "content_text": entry["reason"],
            "date_published": entry["revised_at"],
        }
        for entry in reversed(release.revisions)
    ]
    version = "https://jsonfeed.org/version/1.1"
    return {"version": version, "title": title, "feed_url": address, "items": items}


def replaced(folder: Path) -> str:
    """Why and when the release in ``folder`` was written again, as its feed says; "" if it was not.

    Raises DomainError where its manifest names no feed, or that does not answer.
    """
    address = read_manifest(folder).get("feed")
    if not isinstance(address, str) or not address.startswith(("http://", "https://")):
        raise DomainError(f"{folder / MANIFEST} names no feed to ask.")
    digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    items = _fetched(address).get("items", [])
    entry = next((item for item in items if item.get("id") == digest), None)
    if entry is None:
        return ""
    return f"{entry.get('title', '')} {entry.get('content_text', '')} {entry.get('date_published')}"


def _fetched(address: str) -> dict:
    try:
        with httpx2.stream("GET", address, timeout=SECONDS, follow_redirects=False) as answer:
            answer.raise_for_status()
            body = b""
            for part in answer.iter_bytes():
                body += part
                if len(body) > MOST:
                    raise DomainError(f"{address} answers with too much.")
        document = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
        raise DomainError(f"{address} does not answer with a feed.") from error
    if not isinstance(document, dict) or not all(
        isinstance(item, dict) for item in document.get("items", [])
    ):
        raise DomainError(f"{address} does not answer with a feed.")
    return document
