"""Statistics against the libraries that compute the same, and against the cost of the data itself.

Same process, same data, best of three. ``ratio`` is how many times faster than the library we are
(``floor`` is the library's time), except in the jobs named "over": there ``floor`` is the time to
read the data at all, and ``ratio`` how many times that the whole report takes.
"""

import contextlib
import os
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import evalica
import numpy as np
import pandas as pd
import pyarrow.csv as arrow_csv
import scipy.stats
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from annotation.agreement.report import coefficients
from annotation.agreement.statistics.bootstrap import resampled, weighted_kappas
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.kappas import count_votes, patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from benchmarks.clients import seconds_of
from benchmarks.seed import setup_django

RESULTS = {}


def best(call, rounds=3):
    """Seconds of the fastest of some calls; the first, untimed, warms caches."""
    call()
    return min(seconds_of(call) for _ in range(rounds))


def report(name, ours, floor, *, at_least=None, at_most=None):
    """Print and keep one job's line."""
    ratio = ours / floor if at_most else floor / ours
    met = ratio <= at_most if at_most else ratio >= at_least
    target = f"<={at_most}" if at_most else f">={at_least}"
    RESULTS[name] = {"ours": ours, "floor": floor, "ratio": ratio, "target": target, "met": met}
    sys.stdout.write(
        f"{name} ours={ours * 1e3:.3f}ms floor={floor * 1e3:.3f}ms ratio={ratio:.1f} "
        f"target{target}{'' if met else ' MISSED'}\n"
    )


def judgments(items, votes, options, workers, seed=0):
    """Long columns item, worker, category: a true category an item, four votes in five on it."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items, dtype=np.int32), votes)
    worker = (rng.integers(0, workers, items)[:, None] + np.arange(votes)) % workers
    truth = rng.integers(0, options, items)[item]
    noise = rng.integers(0, options, items * votes)
    category = np.where(rng.random(items * votes) < 0.8, truth, noise)
    return item, worker.ravel().astype(np.int32), category.astype(np.int8)


def bench_counts():
    item, _, category = judgments(100_000, 9, 3, 300)
    wide = category.reshape(-1, 9)
    ours = best(lambda: count_votes(item, category, 100_000, 3))
    report("counts_100k", ours, best(lambda: aggregate_raters(wide)), at_least=20)


def bench_bootstrap():
    for items, options, at_least, draws in ((10_000, 2, 300, 100), (100_000, 3, 500, 20)):
        item, _, category = judgments(items, 9, options, 300)
        counts = count_votes(item, category, items, options)
        patterns = patterns_of(counts)
        ours = best(lambda p=patterns: resampled(p, partial(weighted_kappas, p), 1000))
        rows = np.arange(items)

        def reference(c=counts, rows=rows, draws=draws):
            scipy.stats.bootstrap(
                (rows,), lambda r: fleiss_kappa(c[r]), n_resamples=draws, method="percentile",
                vectorized=False, rng=np.random.default_rng(0),
            )  # fmt: skip

        # The library's cost is in its resamples: a part of the thousand is timed and scaled.
        floor = best(reference, rounds=1) * 1000 / draws
        report(f"bootstrap1000_{items // 1000}k", ours, floor, at_least=at_least)


def bench_alpha():
    rng = np.random.default_rng(0)
    for items in (10_000, 100_000):
        item, worker, category = judgments(items, 9, 5, 9)
        keep = rng.random(len(item)) > 0.1
        counts = count_votes(item[keep], category[keep], items, 5)
        ours = best(lambda c=counts: alpha(patterns_of(c), "ordinal", resamples=0))
        table = np.full((9, items), np.nan)
        table[worker[keep], item[keep]] = category[keep]
        frame = pd.DataFrame(table)
        floor = best(lambda f=frame: evalica.alpha(f, "ordinal"))
        report(f"alpha_ordinal_{items // 1000}k", ours, floor, at_least=1.5)


def bench_bradley_terry():
    rng = np.random.default_rng(0)
    for votes, at_least in ((10_000, 5), (1_000_000, 30)):
        first = rng.integers(0, 20, votes)
        second = (first + rng.integers(1, 20, votes)) % 20
        score = (rng.random(votes) < 1 / (1 + np.exp((second - first) / 10))).astype(float)
        winners = [evalica.Winner.X if won else evalica.Winner.Y for won in score]
        ours = best(lambda a=first, b=second, s=score: bradley_terry(a, b, s, 20))
        floor = best(lambda a=first, b=second, w=winners: evalica.bradley_terry(a, b, w))
        report(f"bradley_terry_{votes // 1000}k", ours, floor, at_least=at_least)


def bench_report():
    item, _, category = (column[:1_000_000] for column in judgments(111_112, 9, 2, 300))
    floor = best(lambda: (item.sum(dtype=np.int64), category.sum(dtype=np.int64)), rounds=10)

    def ours():
        coefficients(patterns_of(count_votes(item, category, 111_112, 2)), resamples=1000)

    report("report_1M_over_one_read", best(ours, rounds=10), floor, at_most=12)


def bench_command():
    """The command on a file of votes with the least columns."""
    from django.core.management import call_command

    item, _, category = (column[:1_000_000] for column in judgments(111_112, 9, 3, 300))
    worker = np.argsort(np.random.default_rng(1).random((111_112, 300)), axis=1)[:, :9]
    rows = zip(item.tolist(), worker.ravel().tolist(), category.tolist(), strict=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        lines = (f"item-{i:06d},w{w:03d},{'abc'[c]}" for i, w, c in rows)
        path.write_text("\n".join(["task,worker,label", *lines, ""]))

        def ours():
            with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
                call_command("agreement", votes=str(path), json=True)

        floor = best(lambda: arrow_csv.read_csv(path), rounds=15)
        report("agreement_csv_1M_over_reader", best(ours, 15), floor, at_most=10)


def main():
    """Run all jobs; {name: {"ours", "floor", "ratio", "target", "met"}}, times in seconds."""
    setup_django()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for bench in (
            bench_counts, bench_bootstrap, bench_alpha, bench_bradley_terry, bench_report,
            bench_command,
        ):  # fmt: skip
            bench()
    return dict(RESULTS)


if __name__ == "__main__":
    main()
