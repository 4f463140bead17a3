"""What the releases of `demo/three_studies.sh` must hold: `expect.py RELEASES FOLDER`; exit 1."""

import json
import sys
from pathlib import Path


def rows(path: Path) -> list[dict]:
    """The lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main(releases: Path, folder: Path) -> None:
    """Check each study; exit with a sentence where something is missing."""
    pairs = {
        (half, tier): len(rows(releases / f"personafeedback/data/{half}/{tier}.jsonl"))
        for half in ("specific", "general")
        for tier in ("easy", "medium", "hard")
    }
    if not all(pairs.values()):
        sys.exit(f"a tier is empty: {pairs}")
    bench = releases / "personalbench"
    counts = {
        name: len(rows(bench / f"{name}.jsonl"))
        for name in ("attributes", "relevance", "responses")
    }
    if not all(counts.values()):
        sys.exit(f"a stage is empty: {counts}")
    if counts["attributes"] != 12:
        sys.exit(f"four attributes of three people were shown: {counts}")
    stages = json.loads((folder / "gap.json").read_text())["stages"]
    if not stages:
        sys.exit("the gap report is empty")
    unpacked = releases / "bespoke/unpacked"
    files = {
        name: len(list((unpacked / name).rglob("query-id_*")))
        for name in ("evaluation_shot", "meta_test", "personalized_rubric", "gold_information")
    }
    if set(files.values()) != {4}:
        sys.exit(f"a query lacks something: {files}")
    print(json.dumps({"pairs": {" ".join(key): n for key, n in pairs.items()}, **counts, **files}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
