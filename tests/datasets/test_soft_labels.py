"""Soft labels by column are those of each item."""

import json

from annotation.datasets.soft_labels import Posteriors, soft, soft_columns


def test_soft_labels_by_column_are_those_of_each_item(reading):
    posteriors = Posteriors(reading.label_votes())
    (chunk,) = reading.chunks()
    items, columns = soft_columns(chunk, posteriors)
    assert items.tolist() == [0, 1, 2, 3, 4, 6, 7]
    for place, labels, n in zip(items, columns["labels"], columns["n"], strict=True):
        item = chunk.items[place]
        assert json.loads(labels.as_py()) == soft(item, posteriors.of(item))
        assert json.loads(n.as_py()) == len(item.votes)
