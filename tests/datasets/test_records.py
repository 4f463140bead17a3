"""Pseudonyms."""

from annotation.datasets.records import shuffled, workers


def test_pseudonyms_are_decided_by_the_salt_alone():
    ids = list(range(40))
    one, other = "00" * 32, "01" * 32
    assert workers(one, ids) == workers(one, reversed(ids))
    assert workers(one, ids) != workers(other, ids)
    assert shuffled(one, ids) != ids
    assert sorted(workers(one, range(1001)).values())[0] == "worker-0001"
