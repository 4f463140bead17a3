"""Reward models fine-tuned from a base model: Bradley and Terry (1952) with transformers and trl.

The defaults are published ones. Needs the extra ``train``; a GPU is used where there is one. A
model is a folder: what transformers saves, and a card as `attune.json`.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from annotation.core import learned
from annotation.core.learned import ModelError
from annotation.evaluation import training
from annotation.evaluation.choices import Scored
from annotation.evaluation.metrics import of_scores
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import Benchmark, Pair, sample

CARD = "attune.json"
WHAT = (
    "Which of two answers to a question a person prefers: Bradley-Terry, fine-tuned from a base "
    "model on profile, question and answer."
)
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
    pairs, about = benchmark.pairs, training.about_users(benchmark, benchmark.pairs, "persona")
    persons = training.persons_of(benchmark, pairs)
    seen = training.seen(persons, hold_out)
    rows = [_row(pair, text) for pair, text, there in zip(pairs, about, seen, strict=True) if there]
    _train(rows, base, Path(out), settings)
    names = sorted({person for person, there in zip(persons, seen, strict=True) if there})
    result = _held_out(pairs, persons, about, ~seen, partial(rewards, Path(out), settings.length))
    card = {
        "kind": "reward",
        "what": WHAT,
        "trained": {"release": benchmark.digest, "base": str(base)} | asdict(settings),
        "result": result,
        "personas": names,
        "persons": len(names),
    }
    (Path(out) / CARD).write_text(json.dumps(card, ensure_ascii=False, indent=1), "utf-8")
    return card


def load(folder: Path) -> tuple[Callable, dict]:
    """A function that gives rewards as ``rewards`` does, and the model's card; ModelError."""
    try:
        card = json.loads((Path(folder) / CARD).read_text("utf-8"))
        personas, length = card["personas"], int(card["trained"]["length"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder} holds no model that `train reward --base` made.") from error
    if card.get("kind") != "reward" or not isinstance(personas, list):
        raise ModelError(f"{folder} holds no model that `train reward --base` made.")
    if not available():
        raise ModelError("This model needs the extra: pip install 'attune-platform[train]'.")
    return partial(rewards, Path(folder), length), card


def rated(benchmark: Benchmark, model: Path, setting: str, limit: int | None) -> Scored:
    """The scores that a model of `train reward` gives the pairs of persons that it has not seen.

    Raises DomainError where there is none, or the release lacks what the setting needs.
    """
    if model.is_dir():
        rate, card = load(model)
    else:
        fitted, card = learned.load(model, "reward")
        rate = partial(training.rewards, fitted)
    drawn = sample(benchmark.pairs, limit)
    asked = training.unseen(benchmark, drawn, card)
    chosen, reject = rate(asked, training.about_users(benchmark, asked, setting))
    left_out = {"left_out": len(drawn) - len(asked)}
    return Scored(Run.Kind.LEARNED, asked, chosen, reject, left_out)


def rewards(
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
    for side in ("chosen", "reject"):
        rows = [_prompt(pair, text) + getattr(pair, side) + (tokenizer.eos_token or "")
                for pair, text in zip(pairs, about, strict=True)]  # fmt: skip
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
        seed=training.HOLD_OUT_SEED,
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
    result = {"n": int(unseen.sum()), "folds": 1, "by": training.folds_by(pairs),
              "metric": "accuracy", "value": None, "low": None, "high": None,
              "baselines": {}}  # fmt: skip
    if not unseen.any():
        return result
    asked = [pair for pair, there in zip(pairs, unseen, strict=True) if there]
    texts = [text for text, there in zip(about, unseen, strict=True) if there]
    names = [name for name, there in zip(persons, unseen, strict=True) if there]
    score = of_scores(*rate(asked, texts))
    value, low, high = training.accuracy_of(score, training.codes_of(names))
    lengths = [np.array([len(getattr(pair, side)) for pair in asked]) for side in
               ("chosen", "reject")]  # fmt: skip
    baselines = {"verbosity": float(100 * of_scores(*lengths).mean())}
    return result | {"value": value, "low": low, "high": high, "baselines": baselines}
