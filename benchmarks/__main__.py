"""`python -m benchmarks [NAME …]`: run the measurements, each on an installation of its own.

What they print goes to stdout; all of it, with the machine's facts, to bench.json in the data
folder (ATTUNE_DATA, else var).
"""

import argparse
import importlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from annotation.local.folders import private_folder, write_private

NAMES = ("stats", "judge_loop", "results", "import_data", "export", "paper_size", "fair_work")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(NAMES)}")
    chosen = parser.parse_args().names or NAMES
    if unknown := set(chosen) - set(NAMES):
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    data = Path(os.environ.get("ATTUNE_DATA") or Path(__file__).parents[1] / "var").absolute()
    private_folder(data)
    machine = {"platform": platform.platform(), "cores": os.cpu_count(), "load": os.getloadavg()}
    document = {"at": datetime.now(UTC).isoformat(), "machine": machine, "figures": {}}
    for name in chosen:
        figures = importlib.import_module(f"benchmarks.{name}").main()
        document["figures"] |= {key: {"unit": "s", **entry} for key, entry in figures.items()}
    write_private(data / "bench.json", json.dumps(document, indent=1) + "\n")
    print(f"Written to {data / 'bench.json'}", file=sys.stderr)


if __name__ == "__main__":
    _main()
