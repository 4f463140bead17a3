"""A large ChatGPT export, generated, through the importer's reader: time and peak memory.

The floor is one pass of ijson's C parser (yajl2_c, `basic_parse`) over the same file that does
nothing but count conversations. Each runs in a process of its own, which tells its peak memory.
`python -m benchmarks.history_import 500` takes 500 MB instead of 100.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import figure

MEGABYTES, ROUNDS = 100, 2
# Three languages, escaped as ChatGPT writes them.
WORDS = ("the", "a", "tea", "green", "of", "and", "to", "in", "water", "how", "much", "what", "is",
         "best", "for", "leaf", "brew", "녹차", "grün", "茶")  # fmt: skip


def main(megabytes: int = MEGABYTES) -> dict[str, dict]:
    """Seconds of the faster of two passes, ours and bare; `peak_mb` of ours.

    AssertionError where the two do not count the same conversations.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        _generate(path, megabytes * 1_000_000)
        runs = {name: [_child(name, path) for _ in range(ROUNDS)] for name in ("ours", "floor")}
    counts = {run["conversations"] for passes in runs.values() for run in passes}
    assert len(counts) == 1, counts
    ours, floor = (min(run["seconds"] for run in runs[name]) for name in ("ours", "floor"))
    peak = max(run["peak_mb"] for run in runs["ours"])
    return figure("history_import", ours, floor, "s", peak_mb=peak, megabytes=megabytes)


def _generate(path: Path, size: int) -> None:
    dice = random.Random(1)
    pool = [_conversation(dice) for _ in range(50)]
    with path.open("w") as file:
        written, count = file.write("["), 0
        while written < size:
            conversation = dice.choice(pool) | {"id": f"c{count}", "conversation_id": f"c{count}"}
            written += file.write((", " if count else "") + json.dumps(conversation))
            count += 1
        file.write("]")


def _conversation(dice: random.Random) -> dict:
    nodes = {"root": {"id": "root", "parent": None, "children": ["n0"], "message": None}}
    last = dice.randrange(3, 40)
    for turn in range(last + 1):
        role, length = ("assistant", 200) if turn % 2 else ("user", 40)
        message = {
            "id": f"m{turn}", "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1735725600.5 + turn, "update_time": None, "weight": 1.0,
            "content": {"content_type": "text", "parts": [_text(dice, length)]},
            "status": "finished_successfully", "end_turn": None, "recipient": "all",
            "metadata": {"model_slug": "gpt-4o", "citations": [], "request_id": "r" * 20},
        }  # fmt: skip
        nodes[f"n{turn}"] = {
            "id": f"n{turn}",
            "parent": f"n{turn - 1}" if turn else "root",
            "children": [f"n{turn + 1}"] if turn < last else [],
            "message": message,
        }
    times = {"create_time": 1735725600.5, "update_time": 1735725700.5}
    return {"title": _text(dice, 4), **times, "mapping": nodes, "current_node": f"n{last}"}


def _text(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(WORDS, k=words))


def _child(name: str, path: Path) -> dict:
    command = [sys.executable, "-m", "benchmarks.history_import", name, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def _measured(name: str, path: str) -> dict:
    count = {"ours": _ours, "floor": _floor}[name](path)
    seconds = time.perf_counter() - BEGIN
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak_mb": peak, "conversations": count}


def _ours(path: str) -> int:
    from django.conf import settings

    settings.configure(USE_I18N=False)
    from annotation.histories.formats import read
    from annotation.histories.records import Conversation

    _begin()
    with open(path, "rb") as file:
        return sum(isinstance(record, Conversation) for record in read(file))


def _floor(path: str) -> int:
    import ijson.backends.yajl2_c as ijson

    _begin()
    depth = count = 0
    with open(path, "rb") as file:
        for event, _ in ijson.basic_parse(file, use_float=True):
            if event == "start_map":
                count += depth == 0
                depth += 1
            elif event == "end_map":
                depth -= 1
    return count


def _begin() -> None:
    # What is imported is not measured.
    global BEGIN
    BEGIN = time.perf_counter()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(_measured(*sys.argv[1:])))
    else:
        main(*map(int, sys.argv[1:]))
