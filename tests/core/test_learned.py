"""Folds, fits and saved models, against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from annotation.core import learned


def test_folds_never_split_a_person():
    person = np.random.default_rng(0).integers(0, 23, 500)
    fold = learned.folds_of(person)
    assert all(len(set(fold[person == who])) == 1 for who in range(23))
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= np.bincount(person).max()
    with pytest.raises(learned.ModelError, match="two persons"):
        learned.folds_of(np.zeros(9))


def test_out_of_fold_predictions_come_from_models_that_saw_nothing_of_the_fold():
    fold = np.array([0, 0, 1, 2])

    def predict(train, test):
        assert not (train & test).any()
        return np.full(test.sum(), train.sum())

    assert learned.out_of_fold(fold, predict).tolist() == [2, 2, 3, 3]


def test_the_fit_is_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 6))
    y = (x @ rng.normal(size=6) + rng.normal(size=400) > 0.4).astype(int)
    fitted = learned.fit_logistic(x, y, ridge=2.0)
    scaled = (x - x.mean(0)) / x.std(0)
    oracle = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scaled, y)
    assert fitted.weights == pytest.approx(oracle.coef_[0], abs=2e-3)
    assert fitted.intercept == pytest.approx(oracle.intercept_[0], abs=2e-3)
    apart = x[:200] - x[200:]
    reward = learned.fit_reward(x[:200], x[200:], ridge=2.0)
    size = np.sqrt((apart**2).mean(0))
    both = np.concatenate([apart, -apart]) / size
    oracle = LogisticRegression(C=0.25, fit_intercept=False, tol=1e-10, max_iter=1000)
    oracle.fit(both, np.repeat([1, 0], 200))
    assert reward.weights == pytest.approx(oracle.coef_[0], abs=2e-3)


def test_the_best_threshold_has_the_best_f1():
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, 60)
    score = np.round(label + rng.normal(size=60), 1)
    best = learned.best_threshold(score, label)
    f1s = {edge: f1_score(label, score >= edge) for edge in score}
    assert learned.f1(score >= best, label) == pytest.approx(max(f1s.values()))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_a_file_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(learned.ModelError, match="no model"):
        learned.load(tmp_path / "m", "reward")
    with pytest.raises(learned.ModelError, match="no such file"):
        learned.load(tmp_path / "nothing", "reward")


def test_an_archive_with_pickled_objects_is_not_opened(tmp_path):
    np.savez(tmp_path / "m.npz", card=np.array([{"kind": "reward"}], dtype=object))
    with pytest.raises(learned.ModelError, match="no model"):
        learned.load(tmp_path / "m.npz", "reward")
