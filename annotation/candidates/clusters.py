"""Statements of one meaning: clusters by cosine, and the best statement of each. Pure.

Memory grows with the number of statements, never with that of pairs: cosines come in blocks.
"""

import numpy as np

BLOCK = 512
CHUNK = 8_192


def cluster(vectors: np.ndarray, confidence: np.ndarray, similarity: float) -> np.ndarray:
    """The cluster (n,) of each row of ``vectors`` (n, dimensions), which have length 1.

    In order of ``confidence`` (n,), then of place, a row leads a cluster where no leader so far has
    a cosine of ``similarity`` or more to it. Then each row joins its most similar leader: members
    are at least that similar to their leader, and no two leaders are.
    """
    vectors = vectors.astype(np.float32, copy=False)
    order = np.argsort(-confidence, kind="stable")
    leaders = _leaders(vectors, order, np.float32(similarity))
    labels = np.empty(len(vectors), dtype=np.int64)
    for start in range(0, len(vectors), BLOCK):
        labels[start : start + BLOCK] = _nearest(vectors[start : start + BLOCK], leaders)[1]
    return labels


def _leaders(vectors: np.ndarray, order: np.ndarray, similarity: np.float32) -> np.ndarray:
    leaders = np.empty((min(len(vectors), CHUNK), vectors.shape[1]), dtype=np.float32)
    count = 0
    for start in range(0, len(vectors), BLOCK):
        block = vectors[order[start : start + BLOCK]]
        far = _nearest(block, leaders[:count])[0] < similarity
        if count + far.sum() > len(leaders):
            leaders = np.concatenate([leaders, np.empty_like(leaders)])
        first = count
        # Rows of one block may be near each other.
        for row in block[far]:
            if count == first or (leaders[first:count] @ row).max() < similarity:
                leaders[count] = row
                count += 1
    return leaders[:count]


def _nearest(block: np.ndarray, leaders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The highest cosine of each row of ``block`` to a leader, and which; -1 without leaders."""
    best = np.full(len(block), -1.0, dtype=np.float32)
    place = np.zeros(len(block), dtype=np.int64)
    for start in range(0, len(leaders), CHUNK):
        near = block @ leaders[start : start + CHUNK].T
        nearest = near.argmax(axis=1)
        value = near[np.arange(len(block)), nearest]
        better = value > best
        best[better], place[better] = value[better], nearest[better] + start
    return best, place


def representatives(vectors: np.ndarray, confidence: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The row that stands for each cluster (clusters,).

    It is the nearest by cosine to the cluster's centroid, which is the mean of the members weighted
    by their confidence; of equally near ones the most confident, then the first.
    """
    if not len(labels):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(labels[order]) > 0])
    weight = np.maximum(confidence, 1e-6).astype(np.float32)
    centroids = np.add.reduceat(vectors[order] * weight[order, None], starts, axis=0)
    near = np.einsum("ij,ij->i", vectors, centroids[labels])
    # A centroid's length is the same for all of its members.
    rank = np.lexsort((np.arange(len(labels)), -confidence, -near.round(5), labels))
    return rank[np.r_[True, np.diff(labels[rank]) > 0]]
