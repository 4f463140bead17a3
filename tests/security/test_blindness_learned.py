"""Two classifiers look for the strategy of an answer in everything of a page but its text.

2,000 pages are shown, each with three answers of the same text and of three strategies, whose rows
differ in all that a strategy differs in. The classifiers see, for each answer, its place, its ids,
the length and the tags of its markup, and of the page its length, headers, cookies and time. On
pages that they have not seen they point at the answer of a strategy as often as chance would.
"""

import re
import time
from uuid import UUID

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from annotation.candidates.models import Candidate
from annotation.judging.batches.open import open_batch
from annotation.judging.models import Slot
from annotation.queries.models import Query

pytestmark = pytest.mark.long

PAGES = 2_000
STRATEGIES = ("generic", "profile", "profile-and-memories")
# A page without a leak fails here once in a hundred thousand runs.
CHANCE = 1e-5
PANE = re.compile(r'<section class="pane" data-option="([^"]+)">(.*?)</section>', re.DOTALL)
CLASSIFIERS = {
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=500)
    ),
    "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=25, random_state=1),
}


@pytest.fixture
def open_study(cast, tea):
    """A study with an item for every page; what a strategy leaves behind differs by strategy."""
    task = cast.task(tea, options=3, overlap=1, tie=True, none=True, reason="optional", marks=True)
    persona = cast.persona(tea)
    queries = Query.objects.bulk_create(
        Query(study=tea, external_id=f"q{n}", persona=persona, text="What now?")
        for n in range(PAGES)
    )
    Candidate.objects.bulk_create(
        Candidate(
            study=tea,
            query=query,
            external_id=f"{query.external_id}-{strategy}",
            text=f"Answer {n}",
            strategy=strategy,
            model="m" * (1 + 40 * n),
            prompt={"messages": ["word"] * 20 * n},
        )
        for query in queries
        for n, strategy in enumerate(STRATEGIES)
    )
    open_batch(tea, task)
    Candidate.objects.update(text="The same words in every answer.")
    return tea


def bits(value: str) -> list[int]:
    return list(UUID(value).bytes)


def facts_of(response, seconds: float) -> list[list[float]]:
    """For each answer of a page, all that can be counted about it and about the page."""
    page = response.content.decode()
    panes = PANE.findall(page)
    ids = [option for option, _inner in panes]
    slot = re.search(r'name="slot" value="([^"]+)"', page)[1]
    # The token is drawn anew for every page.
    bare = re.sub(r'(csrfmiddlewaretoken" value=")\w+', r"\1", page)
    whole = [
        len(bare),
        bare.count("<"),
        len(str(response.headers)),
        len(response.cookies),
        seconds,
        *bits(slot),
    ]
    return [
        [
            place,
            sorted(ids).index(option),
            page.index(option),
            page.count(option),
            len(inner),
            inner.count("<"),
            inner.count("="),
            *bits(option),
            *whole,
        ]
        for place, (option, inner) in enumerate(panes)
    ]


@pytest.fixture
def pages(open_study, cast, login):
    """(facts, strategies, pages): a row an answer."""
    client = login(cast.person("Ann"))
    strategies = {
        str(pk): STRATEGIES.index(name)
        for pk, name in Candidate.objects.values_list("pk", "strategy")
    }
    facts, labels = [], []
    for _ in range(PAGES):
        begin = time.perf_counter()
        response = client.get("/studies/tea/judge/", headers={"HX-Request": "true"})
        facts += facts_of(response, time.perf_counter() - begin)
        labels += [strategies[one] for one, _ in PANE.findall(response.content.decode())]
        Slot.objects.filter(status="held").update(status="done", lease_expires_at=None)
    return np.array(facts, float), np.array(labels), np.repeat(np.arange(PAGES), 3)


def hits(make, facts, labels, groups) -> list[int]:
    """For each strategy, on how many pages the answer that looks most like it is of it."""
    likely = np.zeros((len(labels), len(STRATEGIES)))
    for train, test in GroupKFold(2).split(facts, labels, groups):
        likely[test] = make().fit(facts[train], labels[train]).predict_proba(facts[test])
    chosen = likely.reshape(PAGES, 3, 3).argmax(axis=1)
    truth = labels.reshape(PAGES, 3)
    return [
        int(np.sum(np.take_along_axis(truth, chosen[:, [n]], axis=1)[:, 0] == n))
        for n in range(len(STRATEGIES))
    ]


def luck(found: int) -> float:
    """How often chance alone would point so well."""
    return binomtest(found, PAGES, 1 / 3, alternative="greater").pvalue


# Beside other tests, more threads than processors wait for each other.
@threadpool_limits.wrap(limits=1)
def test_nothing_but_the_text_tells_the_strategies_apart(pages):
    facts, labels, groups = pages
    assert facts.shape[0] == 3 * PAGES
    assert np.bincount(labels).tolist() == [PAGES] * 3
    for name, make in CLASSIFIERS.items():
        found = hits(make, facts, labels, groups)
        assert min(map(luck, found)) > CHANCE, f"{name}: {found} of {PAGES}"
    # The same classifiers find a trace in one answer of five.
    rng = np.random.default_rng(1)
    trace = np.where(rng.random(len(labels)) < 1 / 5, labels, rng.integers(0, 3, len(labels)))
    leaking = np.column_stack([facts, trace == 0, trace == 1])
    for make in CLASSIFIERS.values():
        found = hits(make, leaking, labels, groups)
        assert max(map(luck, found)) < CHANCE, found
