"""Training of judges on a release, cross-validated by person, with baselines beside them.

No person is in training and test at once: folds are persons, and a saved model names the personas
it was fitted on, so that `evaluate` can leave them out.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from annotation.agreement.statistics.bootstrap import over_groups
from annotation.core import learned, records
from annotation.core.learned import ModelError, Texts
from annotation.datasets import papers
from annotation.datasets.release_files import WITH_STRUCTURE, parts, whole_rows
from annotation.evaluation import metrics
from annotation.evaluation.choices import Scored, retrieved
from annotation.evaluation.metrics import of_scores
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import Benchmark, Pair, sample
from annotation.personas.schema import as_text

RESAMPLES = 1000
LEAST = 10
HOLD_OUT_SEED = 1
WHAT = {
    "reward": "Which of two answers to a question a person prefers: Bradley-Terry, linear in "
    "sentence embeddings of persona, question and answer and in the log of the length.",
    "verifier": "Whether an attribute is problematic (uncertain or rejected by people): logistic "
    "regression on its sentence embedding, length and the extractor's confidence.",
    "matcher": "Whether an attribute matters to a prompt: logistic regression on the sentence "
    "embeddings of both.",
    "fine-tuned": "Which of two answers to a question a person prefers: Bradley-Terry, fine-tuned "
    "from a base model on profile, question and answer.",
}


# A model fitted on all that was not held out, and its card.
Trained = tuple[learned.Linear, dict]


def reward(benchmark: Benchmark, hold_out: float = 0.0) -> Trained:
    """Train on the pairs of a release; ``value`` is accuracy in per cent.

    ``hold_out`` is the share of persons that the saved model does not see. Raises ModelError.
    """
    pairs, profiles = benchmark.pairs, _profiles(benchmark)
    persons = persons_of(benchmark, pairs)
    person = codes_of(persons)
    chosen, reject = pair_features(pairs, [profiles.get(pair.user_id, "") for pair in pairs])
    fold = learned.folds_of(person)

    def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        model = learned.fit_reward(chosen[train], reject[train])
        return of_scores(model.score(chosen[test]), model.score(reject[test]))

    result = accuracy_of(learned.out_of_fold(fold, predict), person)
    baselines = {
        name: float(100 * of_scores(*values).mean())
        for name, values in _pair_baselines(pairs, profiles, chosen, reject).items()
    }
    used = seen(persons, hold_out)
    model = learned.fit_reward(chosen[used], reject[used])
    card = _card("reward", "accuracy", fold, result, baselines, benchmark.digest)
    card["result"]["by"] = folds_by(pairs)
    return model, card | _seen_by(persons, used)


def persons_of(benchmark: Benchmark, pairs: list[Pair]) -> list[str]:
    """A name for the person of each pair that is the same in each file: the digest of the profile,
    or of the question where a pair is nobody's.

    Raises ModelError where a pair names a person whose profile is not there: a model trained on
    that person could not be kept from being measured on the same person elsewhere.
    """
    digests = {user: persona_digest(profile) for user, profile in benchmark.personas.items()}
    unknown = next((p.user_id for p in pairs if p.user_id and p.user_id not in digests), None)
    if unknown is not None:
        raise ModelError(
            f"Of the person “{unknown[:60]}” there is no profile, so nobody can tell whom a model "
            "was trained on: each pair needs its “persona” as an object."
        )
    return [digests[p.user_id] if p.user_id else persona_digest(p.question) for p in pairs]


def seen(persons: list[str], hold_out: float) -> np.ndarray:
    """Which rows (rows,) are of persons that a saved model is fitted on."""
    person = codes_of(persons)
    people = int(person.max()) + 1
    left = min(round(hold_out * people), people - 1)
    drawn = np.random.default_rng(HOLD_OUT_SEED).permutation(people)[:left]
    return ~np.isin(person, drawn)


def _seen_by(persons: list[str], used: np.ndarray) -> dict:
    """What a card says of the persons whom a model was fitted on."""
    names = sorted(set(np.array(persons)[used].tolist()))
    return {"personas": names, "persons": len(names)}


def folds_by(pairs: list[Pair]) -> str:
    """What folds keep whole."""
    kinds = {"person" if pair.user_id else "question" for pair in pairs}
    return " or ".join(sorted(kinds))


def answers_of(pairs: list[Pair]) -> tuple[list[str], list[str]]:
    """The chosen and the other answers."""
    return [pair.chosen for pair in pairs], [pair.reject for pair in pairs]


def pair_features(pairs: list[Pair], about: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Features (pairs, 771) of the chosen and of the other answers; ``about`` are the users."""
    texts, asked = Texts(), [pair.question for pair in pairs]
    chosen, reject = answers_of(pairs)
    return (
        learned.reward_features(texts, about, asked, chosen),
        learned.reward_features(texts, about, asked, reject),
    )


def rewards(model: learned.Linear, pairs: list[Pair], about: list[str]) -> tuple:
    """Rewards (pairs,) of the chosen and of the other answers."""
    return tuple(map(model.score, pair_features(pairs, about)))


def about_users(benchmark: Benchmark, pairs: list[Pair], setting: str) -> list[str]:
    """What a learned judge knows of each pair's user: profile, nearest memories, or nothing."""
    if setting == "persona":
        profiles = _profiles(benchmark)
        return [profiles.get(pair.user_id, "") for pair in pairs]
    if setting == "none":
        return [""] * len(pairs)
    if not benchmark.memories:
        raise ModelError(f"The setting {setting} needs persona/memories.jsonl in the release.")
    nearest = retrieved(pairs, benchmark.memories)
    return ["\n".join(nearest[pair.place]) for pair in pairs]


def unseen(benchmark: Benchmark, pairs: list[Pair], card: dict) -> list[Pair]:
    """The pairs of personas that the model was not trained on.

    Raises ModelError where none is left, or where that cannot be told.
    """
    trained = set(card.get("personas", []))
    persons = zip(pairs, persons_of(benchmark, pairs), strict=True)
    left = [pair for pair, person in persons if person not in trained]
    if not left:
        raise ModelError(
            "The model was trained on every persona or question of this release: what it says of "
            "them is no test. Train with --hold-out, or evaluate on another release."
        )
    return left


def persona_digest(profile: dict | str) -> str:
    """A name for a profile or a question that is the same in each release."""
    canonical = json.dumps(profile, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Labelled:
    """Rows of a table: features (rows, features), the person of each, and baselines: a score
    (rows,) each, high where the label should be 1.

    ``label`` is 0, 1, or -1 where people did not decide; ``raw`` are the rows as they stand.
    """

    features: np.ndarray
    label: np.ndarray
    person: list[str]
    baselines: dict[str, np.ndarray]
    digest: str
    raw: list[dict]

    def decided(self) -> "Labelled":
        at = np.flatnonzero(self.label >= 0)
        baselines = {name: score[at] for name, score in self.baselines.items()}
        person, raw = [self.person[place] for place in at], [self.raw[place] for place in at]
        return Labelled(self.features[at], self.label[at], person, baselines, self.digest, raw)


def verifier_rows(folder: Path) -> Labelled:
    """The attributes that people judged; label 1 is "problematic". Raises ModelError."""
    rows, digest = labelled_rows(folder, "attributes", ("text", "user"))
    attribute = [row["text"] for row in rows]
    confidence = [records.number_of(row.get("confidence")) or 0.0 for row in rows]
    features = learned.attribute_features(Texts().rows(attribute), attribute, confidence)
    label = _labels(rows, ("accepted", "problematic"))
    baselines = {
        "verbosity": np.array([float(len(text)) for text in attribute]),
        "confidence": -np.array(confidence),
        "always": np.zeros(len(rows)),
    }
    person = [str(row["user"]) for row in rows]
    return Labelled(features, label, person, baselines, digest, rows)


def matcher_rows(folder: Path) -> Labelled:
    """The attributes and prompts that people judged; label 1 is "yes". Raises ModelError."""
    rows, digest = labelled_rows(folder, "relevance", ("attribute", "prompt", "user"))
    attribute, prompt = ([row[key] for row in rows] for key in ("attribute", "prompt"))
    texts = Texts()
    features = learned.match_features(texts, attribute, prompt)
    baselines = {
        "verbosity": np.array([float(len(text)) for text in prompt]),
        "bm25": bm25(prompt, attribute, list(dict.fromkeys(attribute))),
        "cosine": (texts.rows(attribute) * texts.rows(prompt)).sum(axis=1),
        "always": np.zeros(len(rows)),
    }
    label = _labels(rows, ("no", "yes"))
    person = [str(row["user"]) for row in rows]
    return Labelled(features, label, person, baselines, digest, rows)


def _labels(rows: list[dict], names: tuple[str, str]) -> np.ndarray:
    """0 and 1 for the labels ``names``, -1 for what people did not decide."""
    return np.array([names.index(row["label"]) if row["label"] in names else -1 for row in rows])


def train(kind: str, folder: Path, hold_out: float = 0.0) -> Trained:
    """Train a verifier on the table of attributes of a release, or a matcher on that of relevance;
    ``value`` is F1 of "problematic", or of "yes".
    """
    rows = (verifier_rows if kind == "verifier" else matcher_rows)(folder).decided()
    predicted, by_baseline, fold = predictions(rows)
    baselines = {name: learned.f1(values, rows.label) for name, values in by_baseline.items()}
    person = codes_of(rows.person)
    result = over_groups(lambda w: learned.f1(predicted, rows.label, w), person, RESAMPLES)
    used = seen(rows.person, hold_out)
    model = learned.fit_logistic(rows.features[used], rows.label[used])
    card = _card(kind, "f1", fold, result, baselines, rows.digest)
    threshold = learned.best_threshold(learned.out_of_fold(fold, _fitted(rows)), rows.label)
    return model, card | {"threshold": threshold} | _seen_by(rows.person, used)


def predictions(rows: Labelled) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Which rows the trained model takes for label 1, those of each baseline, and the folds.

    All out of fold, learned from the rows that people decided on. Raises ModelError where those are
    too few.
    """
    decided = rows.label >= 0
    if decided.sum() < LEAST or len(set(rows.label[decided].tolist())) < 2:
        raise ModelError(f"{LEAST} rows or more with both labels are needed, decided by people.")
    if len(set(rows.decided().person)) < 2:
        raise ModelError(learned.TWO_PERSONS)
    fold = learned.folds_of(codes_of(rows.person))
    by_baseline = {
        name: _predicted(rows, fold, lambda _, test, s=score: s[test])
        for name, score in rows.baselines.items()
    }
    return _predicted(rows, fold, _fitted(rows)), by_baseline, fold


def _fitted(rows: Labelled) -> Callable:
    def score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        model = learned.fit_logistic(rows.features[train], rows.label[train])
        return model.score(rows.features[test])

    return score


def _predicted(rows: Labelled, fold: np.ndarray, score: Callable) -> np.ndarray:
    """Whether each row is taken for label 1; thresholds come from the other folds alone."""
    predicted = np.zeros(len(fold), bool)
    for number in np.unique(fold):
        test, train = fold == number, (fold != number) & (rows.label >= 0)
        inner = np.unique(fold[train])
        if len(inner) > 1:
            values = np.zeros(len(fold))
            for held in inner:
                part = fold == held
                values[part] = score(train & ~part, part)
            values = values[train]
        else:
            values = score(train, train)
        threshold = learned.best_threshold(values, rows.label[train])
        predicted[test] = score(train, test) >= threshold
    return predicted


def accuracy_of(score: np.ndarray, person: np.ndarray) -> tuple:
    """Accuracy in per cent with its interval by person."""
    interval = metrics.accuracy(score, person)
    return interval.value, interval.low, interval.high


def _pair_baselines(
    pairs: list[Pair], profiles: dict[str, str], chosen: np.ndarray, reject: np.ndarray
) -> dict[str, tuple]:
    """Scores of both answers by length, by BM25 and by cosine with profile and question."""
    answers = answers_of(pairs)
    asked = [f"{profiles.get(pair.user_id, '')}\n{pair.question}" for pair in pairs]
    lengths = [np.array([float(len(text)) for text in side]) for side in answers]
    return {
        "verbosity": tuple(lengths),
        "bm25": tuple(bm25(asked, side, [*answers[0], *answers[1]]) for side in answers),
        # Columns of learned.reward_features: the cosines with persona and question.
        "cosine": tuple(side[:, -3] + side[:, -2] for side in (chosen, reject)),
    }


def _profiles(benchmark: Benchmark) -> dict[str, str]:
    return {user: as_text(profile) for user, profile in benchmark.personas.items()}


def codes_of(names: list[str]) -> np.ndarray:
    """Whole numbers from 0 for names."""
    return np.unique(names, return_inverse=True)[1]


def _card(
    kind: str, metric: str, fold: np.ndarray, result: tuple, baselines: dict, digest: str
) -> dict:
    value, low, high = result
    return {
        "kind": kind,
        "what": WHAT[kind],
        "trained": {"release": digest, "ridge": learned.RIDGE},
        "result": {
            "n": len(fold),
            "folds": len(np.unique(fold)),
            "by": "person",
            "metric": metric,
            "value": value,
            "low": low,
            "high": high,
            "baselines": baselines,
        },
    }


def labelled_rows(folder: Path, table: str, texts: tuple) -> tuple[list[dict], str]:
    """Rows of a table of a release that have ``texts``, and its files' digest."""
    paths = parts(Path(folder), table, WITH_STRUCTURE)
    if not paths:
        missing = f"{Path(folder) / table} is there neither as JSON lines nor as Parquet"
        layouts = " or ".join(
            each.name for each in papers.registered().values() if table in each.tables
        )
        raise ModelError(f"{missing}; a release in the layout {layouts} is needed.")
    rows, digest = [], hashlib.sha256()
    for path in paths:
        for line, row in whole_rows(path, path.name, ModelError):
            for key in texts:
                if not isinstance(row.get(key), str):
                    raise ModelError(f"{path.name}, line {line}: “{key}” is missing or no text.")
            rows.append(row | {"label": row.get("label")})
        digest.update(path.read_bytes())
    return rows, digest.hexdigest()


K1, B = 1.5, 0.75
# Each Chinese or Japanese sign is a word of its own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+|\d+")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


def bm25(queries: list[str], documents: list[str], corpus: list[str]) -> np.ndarray:
    """(rows,): how well each document answers the query in the same row, by the words of all of
    ``corpus``.
    """
    split = [words_of(text) for text in corpus]
    mean = sum(map(len, split)) / max(len(split), 1) or 1.0
    held = Counter(word for text in split for word in set(text))
    scores = []
    for query, document in zip(queries, documents, strict=True):
        counts = Counter(words_of(document))
        norm = K1 * (1 - B + B * counts.total() / mean)
        scores.append(sum(
            math.log(1 + (len(split) - held[word] + 0.5) / (held[word] + 0.5))
            * counts[word] * (K1 + 1) / (counts[word] + norm)
            for word in set(words_of(query)) & counts.keys()
        ))  # fmt: skip
    return np.array(scores)


# --- Fine-tuned from a base model: Bradley and Terry (1952) with transformers and trl ------------

# The defaults are published ones. Needs the extra ``train``; a GPU is used where there is one. A
# model is a folder: what transformers saves, and a card of this name.
CARD = "attune.json"
# Of one step on a device; the rest of a batch is accumulated.
PER_DEVICE = 4


@dataclass(frozen=True)
class Settings:
    """Table 6: learning rate, pairs a batch, epochs, and tokens of a text at most."""

    learning_rate: float = 1e-5
    batch: int = 32
    epochs: float = 1.0
    length: int = 4096


def available() -> bool:
    """Whether the extra is installed."""
    try:
        import transformers  # noqa: F401
        import trl  # noqa: F401
    except ImportError:
        return False
    return True


def fine_tune(
    benchmark: Benchmark,
    base: str,
    out: Path,
    hold_out: float = 0.0,
    settings: Settings | None = None,
) -> dict:
    """Fine-tune ``base`` (a name on the Hub or a folder) on a release's pairs; the card.

    ``hold_out`` is the share of persons that the model does not see; ``value`` of the result is
    the accuracy on their pairs in per cent, None without them. Raises ModelError where the extra is
    missing or the base model cannot be read.
    """
    settings = settings or Settings()
    if not available():
        raise ModelError("Fine-tuning needs the extra: pip install 'attune-platform[train]'.")
    pairs, about = benchmark.pairs, about_users(benchmark, benchmark.pairs, "persona")
    persons = persons_of(benchmark, pairs)
    used = seen(persons, hold_out)
    rows = [_row(pair, text) for pair, text, there in zip(pairs, about, used, strict=True) if there]
    _train(rows, base, Path(out), settings)
    result = _held_out(
        pairs, persons, about, ~used, partial(tuned_rewards, Path(out), settings.length)
    )
    card = {
        "kind": "reward",
        "what": WHAT["fine-tuned"],
        "trained": {"release": benchmark.digest, "base": str(base)} | asdict(settings),
        "result": result,
        **_seen_by(persons, used),
    }
    (Path(out) / CARD).write_text(json.dumps(card, ensure_ascii=False, indent=1), "utf-8")
    return card


def load(folder: Path) -> tuple[Callable, dict]:
    """A function that gives rewards as ``tuned_rewards`` does, and the model's card; ModelError."""
    try:
        card = json.loads((Path(folder) / CARD).read_text("utf-8"))
        personas, length = card["personas"], int(card["trained"]["length"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder} holds no model that `train reward --base` made.") from error
    if card.get("kind") != "reward" or not isinstance(personas, list):
        raise ModelError(f"{folder} holds no model that `train reward --base` made.")
    if not available():
        raise ModelError("This model needs the extra: pip install 'attune-platform[train]'.")
    return partial(tuned_rewards, Path(folder), length), card


def rated(benchmark: Benchmark, model: Path, setting: str, limit: int | None) -> Scored:
    """The scores that a model of `train reward` gives the pairs of persons that it has not seen.

    Raises DomainError where there is none, or the release lacks what the setting needs.
    """
    if model.is_dir():
        rate, card = load(model)
    else:
        fitted, card = learned.load(model, "reward")
        rate = partial(rewards, fitted)
    drawn = sample(benchmark.pairs, limit)
    asked = unseen(benchmark, drawn, card)
    chosen, reject = rate(asked, about_users(benchmark, asked, setting))
    left_out = {"left_out": len(drawn) - len(asked)}
    return Scored(Run.Kind.LEARNED, asked, chosen, reject, left_out)


def tuned_rewards(
    folder: Path, length: int, pairs: list[Pair], about: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Rewards (pairs,) of the chosen and of the other answers; ``about`` tells of each user.

    Texts are cut after ``length`` tokens.
    """
    import torch

    model, tokenizer = _opened(str(folder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).train(mode=False)
    values = []
    for answers in answers_of(pairs):
        rows = [_prompt(pair, text) + answer + (tokenizer.eos_token or "")
                for pair, text, answer in zip(pairs, about, answers, strict=True)]  # fmt: skip
        scores: list[float] = []
        for begin in range(0, len(rows), PER_DEVICE):
            part = tokenizer(rows[begin : begin + PER_DEVICE], return_tensors="pt", padding=True,
                             truncation=True, max_length=length)  # fmt: skip
            part = {name: part[name].to(device) for name in ("input_ids", "attention_mask")}
            with torch.no_grad():
                scores += model(**part).logits[:, 0].float().tolist()
        values.append(np.array(scores))
    return values[0], values[1]


def _train(rows: list[dict], base: str, out: Path, settings: Settings) -> None:
    import torch
    from datasets import Dataset
    from trl import RewardConfig, RewardTrainer

    model, tokenizer = _opened(base)
    gpu, step = torch.cuda.is_available(), min(settings.batch, PER_DEVICE)
    config = RewardConfig(
        output_dir=str(out),
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=step,
        gradient_accumulation_steps=max(1, settings.batch // step),
        num_train_epochs=settings.epochs,
        max_length=settings.length,
        bf16=gpu and torch.cuda.is_bf16_supported(),
        use_cpu=not gpu,
        gradient_checkpointing=gpu,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=HOLD_OUT_SEED,
    )
    trainer = RewardTrainer(
        model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    trainer.train()
    trainer.save_model(str(out))
    tokenizer.save_pretrained(str(out))


def _opened(name: str) -> tuple[Any, Any]:
    """The model with one reward as its output, and its tokenizer; ModelError."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=1)
    except (OSError, ValueError) as error:
        raise ModelError(f"The model {name} cannot be read: {str(error)[:200]}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def _row(pair: Pair, about: str) -> dict:
    return {"prompt": _prompt(pair, about), "chosen": pair.chosen, "rejected": pair.reject}


def _prompt(pair: Pair, about: str) -> str:
    person = f"The user's profile:\n{about}\n\n" if about else ""
    return f"{person}Question:\n{pair.question}\n\nAnswer:\n"


def _held_out(
    pairs: list[Pair], persons: list[str], about: list[str], unseen: np.ndarray, rate: Callable
) -> dict:
    """What `train` prints; ``folds`` is 1, since a model of this size is fitted once."""
    result = {"n": int(unseen.sum()), "folds": 1, "by": folds_by(pairs),
              "metric": "accuracy", "value": None, "low": None, "high": None,
              "baselines": {}}  # fmt: skip
    if not unseen.any():
        return result
    asked, texts = list(compress(pairs, unseen)), list(compress(about, unseen))
    names = list(compress(persons, unseen))
    score = of_scores(*rate(asked, texts))
    value, low, high = accuracy_of(score, codes_of(names))
    lengths = [np.array([len(text) for text in answers]) for answers in answers_of(asked)]
    baselines = {"verbosity": float(100 * of_scores(*lengths).mean())}
    return result | {"value": value, "low": low, "high": high, "baselines": baselines}
