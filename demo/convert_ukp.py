"""Turn a folder of UKPConvArg1 (JSON lines) into a study bundle and its votes file.

    python -m demo.convert_ukp SOURCE OUT

SOURCE holds items.jsonl, arguments.jsonl and judgments.jsonl: pairs of arguments of the same side
of a debate, and crowd workers' votes with reasons. An argument appears in many pairs, so it becomes
a candidate of its debate side, which becomes the query. OUT gets the bundle and votes.csv.

Data: Habernal and Gurevych, ACL 2016 (CC BY 4.0), https://github.com/UKPLab/acl2016-convincing-arguments
"""

import argparse
import csv
import json
import sys
from collections import Counter
from pathlib import Path

TASK = "convincing"
GUIDELINE = """Both arguments take the same side of the debate. Choose the one that is **more
convincing**, whatever you think of the side itself. Where neither is more convincing than the
other, say that they are equal. Give the reason in a sentence.
"""
STUDY = {
    "slug": "ukp",
    "title": "Which argument is more convincing?",
    "description": (
        "Pairs of web arguments from both sides of debates, and the votes of crowd workers with "
        "their reasons. UKPConvArg1 by Ivan Habernal and Iryna Gurevych (ACL 2016), CC BY 4.0."
    ),
    "guideline": GUIDELINE,
    "consent": "",
    "languages": ["en"],
    "tasks": [
        {
            "name": TASK,
            "kind": "selection",
            "options": 2,
            "overlap": 5,
            "tie": True,
            "reason": "optional",
        }
    ],
}


def convert(source: Path, out: Path) -> dict[str, int]:
    """Write the bundle and votes.csv into ``out``; how many queries, candidates, items, votes.

    Each item wants as many judgments as it has votes. Raises OSError where a file is missing, and
    KeyError or ValueError where it is not of the format above.
    """
    items, arguments = _read(source / "items.jsonl"), _read(source / "arguments.jsonl")
    judgments = _read(source / "judgments.jsonl")
    debates = {item["item_id"].split("/")[0]: item["debate"] for item in items}
    queries = {
        argument["debate"]: {
            "id": argument["debate"],
            "text": f"{debates[argument['debate']]} – {argument['stance']}",
            "type": "general",
        }
        for argument in arguments
    }
    candidates = [
        {"id": row["argument_id"], "query": row["debate"], "text": row["text"]} for row in arguments
    ]
    wanted = Counter(judgment["item_id"] for judgment in judgments)
    pairs = {item["item_id"]: _pair(item) for item in items}
    rows = [
        {
            "id": name,
            "task": TASK,
            "query": name.split("/")[0],
            "candidates": list(pair.values()),
            "overlap": wanted[name],
        }
        for name, pair in pairs.items()
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "study.json").write_text(json.dumps(STUDY, indent=2) + "\n", encoding="utf-8")
    _write(out / "queries.jsonl", queries.values())
    _write(out / "candidates.jsonl", candidates)
    _write(out / "items.jsonl", rows)
    _write_votes(out / "votes.csv", judgments, pairs)
    return {
        "queries": len(queries),
        "candidates": len(candidates),
        "items": len(rows),
        "votes": len(judgments),
    }


def _pair(item: dict) -> dict[str, str]:
    """The arguments behind a1 and a2, in this order."""
    return {side["id"]: side["argument_id"] for side in item["candidates"]}


def _write_votes(path: Path, judgments: list[dict], pairs: dict) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["task", "worker", "label", "seconds", "reason"])
        for vote in judgments:
            labels = pairs[vote["item_id"]] | {"equal": "tie"}
            label = labels[vote["choice"]]
            row = (vote["item_id"], vote["annotator"], label, vote["seconds"], vote["reason"])
            writer.writerow(row)


def _read(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _write(path: Path, rows) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    """Convert the folder named on the command line."""
    parser = argparse.ArgumentParser(prog="convert_ukp", description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path, metavar="SOURCE", help="folder of the JSON lines")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for bundle and votes.csv")
    arguments = parser.parse_args()
    try:
        counts = convert(arguments.source, arguments.out)
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"{arguments.source} cannot be converted: {error!r}")
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
