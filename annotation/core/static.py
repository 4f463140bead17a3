"""Static files under hashed names; the list of them is not among what is served."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import rcssmin
import rjsmin
from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

HASHED = re.compile(r"\.[0-9a-f]{12}(\.|$)")
# Our own files alone: what packages bring is served as they made it.
SHORTENED = {"css/": rcssmin.cssmin, "js/": rjsmin.jsmin}


class PrivateManifestStorage(CompressedManifestStaticFilesStorage):
    """Keeps its manifest in ``settings.STATIC_MANIFEST``; a damaged one counts as missing.

    Our own style sheets and scripts are stored without comments and needless white space.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        folder = StaticFilesStorage(location=settings.STATIC_MANIFEST)
        super().__init__(*args, manifest_storage=folder, **kwargs)

    def _save(self, name: str, content: File) -> str:
        # Collecting comes through here for both the plain name and the hashed one.
        for folder, shorten in SHORTENED.items():
            if name.startswith(folder):
                text = b"".join(content.chunks()).decode()
                content = ContentFile(shorten(text).encode())
        return super()._save(name, content)

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pack what pages name, which is slow; plain names serve the page of a fault alone."""
        return super().compress_files([path for path in paths if HASHED.search(path)])

    def read_manifest(self) -> str | None:
        content = super().read_manifest()
        try:
            json.loads(content or "")
        except ValueError:
            return None
        return content
