"""Judges that are learned on a laptop: linear models on sentence embeddings. Pure.

*reward*: Bradley and Terry's model (1952) of which of two answers a person prefers,
P(a before b) = 1 / (1 + exp(r(b) - r(a))), r linear in features of persona, question and answer.
*verifier* and *matcher*: logistic regression of "this attribute is problematic" and "this attribute
matters to this prompt". Both minimise the penalised log likelihood with L-BFGS.

A model's file is a NumPy archive of numbers and a card as JSON text; nothing in it is executed.
"""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import scipy

from annotation.core.embed import DIMENSIONS, embed
from annotation.core.errors import DomainError

VERSION = 1
RIDGE = 30.0
ITERATIONS = 200
FOLDS = 5
KINDS = ("reward", "verifier", "matcher")
FILE_LIMIT = 50_000_000
TWO_PERSONS = "Cross-validation by person needs two persons or more."
# What reading an archive that is none, or not one of these, fails with.
_BROKEN = (
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    AttributeError,
    zipfile.BadZipFile,
    zlib.error,
)


class ModelError(DomainError):
    """The file holds no trained model of that kind."""

    code = "model"


@dataclass(frozen=True)
class Linear:
    """A linear model of standardised features: ``weights`` (features,), and an intercept."""

    weights: np.ndarray
    middle: np.ndarray
    scale: np.ndarray
    intercept: float = 0.0

    def score(self, features: np.ndarray) -> np.ndarray:
        """Log odds, or a reward up to a constant: (rows,) of ``features`` (rows, features)."""
        return ((features - self.middle) / self.scale) @ self.weights + self.intercept


class Texts:
    """Embeddings of texts, each computed once; ``rows(texts)`` gives (texts, 256)."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {"": 0}
        self.values = np.zeros((1, DIMENSIONS), dtype=np.float32)

    def rows(self, texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self.places]
        if new:
            begin = len(self.values)
            self.places |= {text: begin + place for place, text in enumerate(new)}
            self.values = np.concatenate([self.values, embed(new)])
        return self.values[[self.places[text] for text in texts]]


def reward_features(
    texts: Texts, persona: list[str], question: list[str], answer: list[str]
) -> np.ndarray:
    """Features (rows, 771) of answers: what an answer says, how it meets persona and question.

    The embedding of the answer, its products with those of persona and question (of which each sum
    is a cosine), the two cosines and the log of its length.
    """
    p, q, a = (texts.rows(list(part)) for part in (persona, question, answer))
    to_persona, to_question = p * a, q * a
    near = np.column_stack([to_persona.sum(1), to_question.sum(1), _lengths(answer)])
    return np.concatenate([a, to_persona, to_question, near.astype(np.float32)], axis=1)


def attribute_features(
    vectors: np.ndarray, attribute: list[str], confidence: list[float]
) -> np.ndarray:
    """Features (rows, 258) of attributes: embedding, log length, the extractor's confidence.

    ``vectors`` (rows, 256) are the embeddings of the attributes.
    """
    more = np.column_stack([_lengths(attribute), np.nan_to_num(np.array(confidence, float))])
    return np.concatenate([vectors, more.astype(np.float32)], axis=1)


def match_features(texts: Texts, attribute: list[str], prompt: list[str]) -> np.ndarray:
    """Features (rows, 515) of attribute and prompt: products, differences, cosine, log lengths."""
    a, p = texts.rows(list(attribute)), texts.rows(list(prompt))
    product = a * p
    more = np.column_stack([product.sum(1), _lengths(attribute), _lengths(prompt)])
    return np.concatenate([product, np.abs(a - p), more.astype(np.float32)], axis=1)


def _lengths(texts: list[str]) -> np.ndarray:
    return np.log1p([len(text) for text in texts])


def fit_reward(chosen: np.ndarray, reject: np.ndarray, ridge: float = RIDGE) -> Linear:
    """Bradley-Terry on features (pairs, features) of the chosen and of the other answers."""
    apart = chosen - reject
    # Only differences count: they have no middle, and the scale is theirs.
    scale = _scale(apart)
    weights, _ = _fit(apart / scale, np.ones(len(apart)), ridge, with_intercept=False)
    return Linear(weights, np.zeros(apart.shape[1]), scale)


def fit_logistic(features: np.ndarray, label: np.ndarray, ridge: float = RIDGE) -> Linear:
    """Logistic regression of ``label`` (rows,) of 0 and 1."""
    middle, scale = features.mean(axis=0), _scale(features - features.mean(axis=0))
    weights, intercept = _fit((features - middle) / scale, label, ridge, with_intercept=True)
    return Linear(weights, middle, scale, intercept)


def _scale(features: np.ndarray) -> np.ndarray:
    size = np.sqrt((features**2).mean(axis=0))
    return np.where(size > 1e-8, size, 1.0)


def _fit(x: np.ndarray, y: np.ndarray, ridge: float, *, with_intercept: bool) -> tuple:
    """Weights and intercept of the least penalised loss; the intercept is not penalised."""
    size = x.shape[1]
    x = np.ascontiguousarray(x, dtype=np.float32)
    sign = (2 * y - 1).astype(np.float32)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        weights, intercept = theta[:size].astype(np.float32), theta[size]
        odds = sign * (x @ weights + np.float32(intercept))
        slope = -sign * scipy.special.expit(-odds)
        value = np.logaddexp(0, -odds).sum() + ridge / 2 * theta[:size] @ theta[:size]
        gradient = np.append(x.T @ slope + ridge * theta[:size], slope.sum() * with_intercept)
        return float(value), gradient.astype(float)

    options = {"maxiter": ITERATIONS}
    from scipy.optimize import minimize  # half a second and 30 MB, needed for training alone

    best = minimize(loss, np.zeros(size + 1), jac=True, method="L-BFGS-B", options=options).x
    return best[:size], float(best[size])


def folds_of(group: np.ndarray) -> np.ndarray:
    """The fold (rows,) of each row: all rows of a group in one, folds of about the same size.

    Raises ModelError where there are fewer than two groups.
    """
    names, code, size = np.unique(group, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ModelError(TWO_PERSONS)
    rng = np.random.default_rng(0)
    order = sorted(rng.permutation(len(names)), key=lambda place: -size[place])
    load, fold = np.zeros(min(FOLDS, len(names)), int), np.zeros(len(names), int)
    for place in order:
        fold[place] = int(load.argmin())
        load[fold[place]] += size[place]
    return fold[code]


def out_of_fold(fold: np.ndarray, predict: Callable) -> np.ndarray:
    """Predictions (rows,), each by a model that saw no row of its fold.

    ``predict(train, test)`` gets two masks (rows,) and returns the predictions of the second.
    """
    values = np.zeros(len(fold))
    for number in np.unique(fold):
        test = fold == number
        values[test] = predict(~test, test)
    return values


def best_threshold(score: np.ndarray, label: np.ndarray) -> float:
    """The threshold with the highest F1 of "label 1 from here on"."""
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(label[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + label.sum())
    # Equal scores fall on one side together.
    last = np.append(np.diff(score[order]) != 0, True)
    return float(score[order][np.where(last, f1, -1).argmax()])


def f1(predicted: np.ndarray, label: np.ndarray, weight: np.ndarray | None = None) -> float:
    """F1 of the label 1; 0 where nothing is right."""
    weight = np.ones(len(label)) if weight is None else weight
    right = (weight * (predicted & (label == 1))).sum()
    both = (weight * predicted).sum() + (weight * (label == 1)).sum()
    return float(2 * right / both) if both else 0.0


def save_model(path: Path, model: Linear, card: dict) -> None:
    """Write the model with its card to ``path``, whole or not at all, and the card beside it.

    The card needs "kind". Raises ModelError where the folder cannot be written to.
    """
    path = Path(path)
    work = path.with_name(f".{path.name}.partial")
    card = {"version": VERSION, **card}
    try:
        with work.open("wb") as stream:
            np.savez_compressed(
                stream,
                weights=model.weights,
                middle=model.middle,
                scale=model.scale,
                intercept=np.array(model.intercept),
                card=np.frombuffer(json.dumps(card, ensure_ascii=False).encode(), np.uint8),
            )
        work.replace(path)
        path.with_name(f"{path.name}.md").write_text(card_text(card), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise ModelError(f"{path}: {reason}.") from error


def load(path: Path, kind: str) -> tuple[Linear, dict]:
    """The model of ``kind`` and its card. Raises ModelError where the file is none."""
    path = Path(path)
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise ModelError(f"{path}: the file is too large for a model.")
        with path.open("rb") as stream:
            return load_stream(stream, str(path), kind)
    except OSError as error:
        raise ModelError(f"{path}: {(error.strerror or 'no model').lower()}.") from error


def messages(path: Path, scratch: Path, limits: object) -> Iterator[dict]:
    """The verifier in a foreign file as JSON, for the process that reads it (core.foreign)."""
    with path.open("rb") as stream:
        model, card = load_stream(stream, "The file", "verifier")
    parts = {name: getattr(model, name).tolist() for name in ("weights", "middle", "scale")}
    yield {**parts, "intercept": model.intercept, "card": card}


def load_stream(stream: IO[bytes], name: str, kind: str) -> tuple[Linear, dict]:
    """As ``load``, from a stream called ``name``."""
    try:
        with zipfile.ZipFile(stream) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > FILE_LIMIT:
                raise ModelError(f"{name}: the file is too large for a model.")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            card = json.loads(archive["card"].tobytes())
            parts = [archive[name].astype(float) for name in ("weights", "middle", "scale")]
            model = Linear(parts[0], parts[1], parts[2], float(archive["intercept"]))
    except _BROKEN as error:
        raise ModelError(f"{name} is no model that `train` made.") from error
    if not isinstance(card, dict) or card.get("kind") != kind or card.get("version") != VERSION:
        held = card.get("kind") if isinstance(card, dict) else None
        raise ModelError(f"{name} is no {kind} model (it says: {str(held)[:40]}).")
    finite = all(np.isfinite(part).all() for part in (*parts, model.intercept))
    if len({part.shape for part in parts}) != 1 or not finite:
        raise ModelError(f"{name} is no model that `train` made.")
    return model, card


def card_text(card: dict) -> str:
    """The card as Markdown: what it was trained on, how good it is, what it is beside."""
    lines = [f"# {card['kind']} model", "", card.get("what", ""), ""]
    result = card.get("result", {})
    if result:
        lines += [
            f"- {result['metric']}, cross-validated by {result.get('by', 'person')} in "
            f"{result['folds']} folds on {result['n']} rows: {_of(result)}",
            *(f"- baseline {name}: {value:.3f}" for name, value in result["baselines"].items()),
        ]
    lines += [f"- {name}: {value}" for name, value in card.get("trained", {}).items()]
    lines += ["", "Not for persons it was trained on: `evaluate` leaves their pairs out."]
    return "\n".join(lines) + "\n"


def _of(result: dict) -> str:
    if result["low"] is None:
        return f"{result['value']:.3f}"
    return f"{result['value']:.3f} ({result['low']:.3f} to {result['high']:.3f})"
