"""What is made before a page is served: catalogues, style sheets and scripts.

Static files have hashed names; the list of them is not among what is served. The catalogues of
`locale/` are compiled without gettext, which a user's machine may not have.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import rcssmin
import rjsmin
from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

from annotation.product import FILES

HASHED = re.compile(r"\.[0-9a-f]{12}(\.|$)")
# Our own files alone: what packages bring is served as they made it.
SHORTENED = {"css/": rcssmin.cssmin, "js/": rjsmin.jsmin}
LOCALE = FILES / "locale"


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


def compile_catalogues(folder: Path = LOCALE) -> list[Path]:
    """Write a `.mo` beside each `.po` below `folder` that is newer; return those written."""
    import polib  # no web server needs it

    written = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        temporary = target.with_suffix(".mo.new")
        polib.pofile(str(source)).save_as_mofile(str(temporary))
        temporary.replace(target)
        written.append(target)
    return written


if __name__ == "__main__":
    compile_catalogues()
