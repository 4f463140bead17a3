"""Clustering of extracted statements against the time that their embeddings alone take.

100,000 statements of 50 people (the published study has 50), person by person as the product does
it, and `cluster_one` a quarter of them as if they were one person's: its time grows with the number
of clusters. `peak` is the memory that clustering took beside the vectors, in MB.
"""

import random
import time
import tracemalloc

import numpy as np

from benchmarks.figures import figure

WHO = ("Prefers", "Dislikes", "Works with", "Is learning", "Owns", "Collects", "Worries about")
WHAT = (
    *("short answers", "rye bread", "night trains", "old maps", "tax forms", "Python scripts"),
    *("garden moss", "chess openings", "a small harbour", "winter running", "jazz records"),
    *("children's books", "solar panels", "used cars", "knee pain", "Korean dramas", "bees"),
)
HOW = (
    "at home",
    "for work",
    "every week",
    "since school",
    "with friends",
    "late at night",
    "alone",
)


def main(statements=100_000, people=50) -> dict[str, dict]:
    """Seconds of clustering against seconds of embedding."""
    from annotation.core.embed import embed

    chance = random.Random(1)
    texts = [
        f"{chance.choice(WHO)} {chance.choice(WHAT)} {chance.choice(HOW)}, and "
        f"{chance.choice(WHAT)} {chance.choice(HOW)}."
        for _n in range(statements)
    ]
    embed(["warm"])
    begin = time.perf_counter()
    vectors = embed(texts)
    floor = time.perf_counter() - begin
    confidence = np.array([chance.random() for _text in texts])
    share = statements // people
    figures = {}
    parts = [slice(start, start + share) for start in range(0, statements, share)]
    for name, some, of in (
        ("cluster", parts, 1),
        ("cluster_one", [slice(0, statements // 4)], 4),
    ):
        seconds, clusters, peak = _clustered(vectors, confidence, some)
        more = {"statements": statements // of, "clusters": clusters, "peak": peak}
        figures |= figure(name, seconds, floor / of, "s", **more)
    return figures


def _clustered(vectors, confidence, parts) -> tuple[float, int, float]:
    """Seconds, clusters, and the peak of memory in MB (of a second run: measuring costs time)."""
    from annotation.candidates import clusters

    def once() -> int:
        count = 0
        for part in parts:
            labels = clusters.cluster(vectors[part], confidence[part], 0.7)
            count += len(clusters.representatives(vectors[part], confidence[part], labels))
        return count

    begin = time.perf_counter()
    count = once()
    seconds = time.perf_counter() - begin
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, count, peak


if __name__ == "__main__":
    main()
