"""Static files under hashed names; the list of them is not among what is served."""

import json
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage


class PrivateManifestStorage(CompressedManifestStaticFilesStorage):
    """Keeps its manifest in ``settings.STATIC_MANIFEST``; a damaged one counts as missing."""

    def __init__(self, *args: Any, **kwargs: Any):
        folder = StaticFilesStorage(location=settings.STATIC_MANIFEST)
        super().__init__(*args, manifest_storage=folder, **kwargs)

    def read_manifest(self) -> str | None:
        content = super().read_manifest()
        try:
            json.loads(content or "")
        except ValueError:
            return None
        return content
