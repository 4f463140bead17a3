"""Arrow, imported at its first use: every process imports its users, and 20 MB wait until then."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq
else:

    class _Late:
        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module(self._name), name)

    pa, pc, pa_csv, pq = (_Late(f"pyarrow{part}") for part in ("", ".compute", ".csv", ".parquet"))

__all__ = ["pa", "pa_csv", "pc", "pq"]
