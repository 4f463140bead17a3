"""Where published corpora lie that are no part of a clone; their tests are skipped without."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("ATTUNE_SHARED") or Path(__file__).parents[2] / "shared")
DATA = SHARED / "data"
