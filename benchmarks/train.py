"""Training of a reward model against the time that its embeddings alone take.

A fifth of the pairs that the target names (100,000 pairs, at most 3 times the embedding time), on
texts of 600 characters: embedding and training both grow with the pairs. The floor embeds the same
texts in the same process.
"""

import json
import os
import random
import tempfile
import time
from pathlib import Path

from benchmarks.figures import figure

WORDS = (
    *("tea", "rain", "train", "bread", "moss", "window", "harbour", "letter"),
    *("music", "garden", "lamp", "winter", "plan"),
)


def main(pairs=20_000, users=200) -> dict[str, dict]:
    """Train on made-up pairs; seconds against seconds of embedding."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    from annotation.core.embed import embed
    from annotation.evaluation import pairs as reading
    from annotation.evaluation import training

    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), pairs, users)
        benchmark = reading.read(Path(folder))
    texts = {pair.question for pair in benchmark.pairs}
    for pair in benchmark.pairs:
        texts |= {pair.chosen, pair.reject}
    embed(["warm"])
    begin = time.perf_counter()
    embed(list(texts))
    floor = time.perf_counter() - begin
    begin = time.perf_counter()
    training.reward(benchmark)
    return figure("train_reward", time.perf_counter() - begin, floor, "s", pairs=pairs)


def _write(folder: Path, pairs: int, users: int) -> None:
    chance = random.Random(1)

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words)) + f" {chance.random():.6f}"

    rows = (
        {"user_id": str(n % users + 1), "question": text(12), "chosen": text(110),
         "reject": text(100)}
        for n in range(pairs)
    )  # fmt: skip
    personas = ({"Name": f"P{n}", "Preference": text(60)} for n in range(users))
    for path, some in (
        ("data/specific/easy.jsonl", rows),
        ("persona/all_personas.jsonl", personas),
    ):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in some))


if __name__ == "__main__":
    main()
