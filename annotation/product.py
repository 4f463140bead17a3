"""The version of the product, and where its files and the data of its user are."""

import os
import sys
from pathlib import Path

__version__ = "1.0.0"

PACKAGE = Path(__file__).resolve().parent


def _user_folder() -> Path:
    """Return where programs of this system keep what belongs to the user."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "attune"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "attune"


# A wheel has the pages, static files, translations and the demo within the package; a clone has
# them beside it, and its data, too.
INSTALLED = (PACKAGE / "shipped").is_dir()
FILES = PACKAGE / "shipped" if INSTALLED else PACKAGE.parent
HOME = _user_folder() if INSTALLED else PACKAGE.parent
