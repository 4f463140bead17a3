"""The drill: an installation is backed up and lost, and a new one takes its place.

`python -m benchmarks.drill` prints one line and ends with 1 where anything differs.
"""

import http.client
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import stack

STUDY = "demo-votes"


def files(folder: Path) -> dict[str, bytes]:
    """{path: content} of everything in a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def lose(folder: Path, file: Path) -> dict:
    """Run an installation with a release, back it up to `file`, and delete it; the summary."""
    with stack.running() as run:
        run.call("manage", "load_demo")
        words = ("release", STUDY, "--layout", "long", "--out", folder / "before", "--json")
        run.run("manage", *words)
        return run.run("manage", "backup", file, "--json")


def recover(folder: Path, file: Path) -> tuple[dict, bool]:
    """Restore `file` in a new installation; the summary, and whether it serves afterwards."""
    with stack.running() as run:
        summary = run.run("manage", "restore", file, "--json")
        run.stop()
        run.start()
        run.run("manage", "release", STUDY, "--again", 1, "--out", folder / "after", "--json")
        connection = http.client.HTTPConnection("127.0.0.1", run.port, timeout=30)
        connection.request("GET", "/health/ready")
        return summary, connection.getresponse().status == http.client.OK


def main() -> int:
    """The whole drill; its exit status."""
    with tempfile.TemporaryDirectory(prefix="attune-drill-") as name:
        folder, file = Path(name), Path(name) / "attune.backup"
        made = lose(folder, file)
        begin = time.monotonic()
        restored, ready = recover(folder, file)
        seconds = time.monotonic() - begin
        equal = {
            "rows": made["counts"] == restored["counts"],
            "digests": made["files"] == restored["files"],
            "release": files(folder / "before") == files(folder / "after") != {},
            "ready": ready,
        }
    rows = sum(made["counts"].values())
    words = " ".join(f"{name}={'ok' if same else 'WRONG'}" for name, same in equal.items())
    print(f"restored={rows} files={len(made['files'])} seconds={seconds:.0f} {words}")
    return 0 if all(equal.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
