"""BM25 of few documents."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.evaluation import bm25


def test_bm25_ranks_as_the_words_that_are_shared_and_rare():
    documents = ["the tea is green", "the tea is black and strong", "the rain in spain"]
    corpus = bm25.Corpus(documents)
    scores = corpus.scores(["green tea"] * 3, documents)
    assert scores.argmax() == 0
    assert scores[2] == 0
    order = TfidfVectorizer().fit(documents)
    near = (order.transform(documents) @ order.transform(["green tea"]).T).toarray().ravel()
    assert np.argsort(scores).tolist() == np.argsort(near).tolist()
    assert bm25.words("我爱喝茶 and Tea 3") == ["我", "爱", "喝", "茶", "and", "tea", "3"]
