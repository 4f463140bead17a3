"""Compile the catalogues of `locale/` without gettext, which a user's machine may not have."""

from pathlib import Path

import polib

from annotation.product import FILES

LOCALE = FILES / "locale"


def compile_catalogues(folder: Path = LOCALE) -> list[Path]:
    """Write a `.mo` beside each `.po` below `folder` that is newer; return those written."""
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
