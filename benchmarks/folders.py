"""Data folders of servers that run for a test or a benchmark."""

import shutil
import time
from pathlib import Path

ENDING_SECONDS = 60


def delete_folder(folder: Path) -> None:
    """Delete `folder`, in which processes of a server just killed may write for another moment.

    PostgreSQL's processes have sessions of their own: they outlive a killed postmaster until they
    notice, and files appear while the folder is being emptied. Raises OSError after a minute.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)
        time.sleep(0.05)


def delete_data_folder(data: Path) -> None:
    """Delete the data folder `data`, the folder around it, and root's cluster, elsewhere."""
    home = (data / "postgres").resolve()
    delete_folder(data.parent)
    delete_folder(home)
