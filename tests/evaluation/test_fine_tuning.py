"""Fine-tuning of reward models: a random model of two layers learns, and enters the same table."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.evaluation import training
from annotation.evaluation.models import Run
from tests.evaluation.test_training import evaluate, make_pairs, train

installed = pytest.mark.skipif(not training.available(), reason="extra [reward] is not installed")


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A folder with a random model of two layers, and a tokenizer of the release's words."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast

    folder = make_pairs(tmp_path / "words")
    texts = [line for path in folder.rglob("*.jsonl") for line in path.open()]
    words = Tokenizer(models.WordLevel(unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[unk]", "[end]"]
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[unk]", eos_token="[end]", pad_token="[end]"
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_labels=1, pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    target = tmp_path / "base"
    LlamaForSequenceClassification(config).save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


def test_the_defaults_are_those_of_the_paper():
    """Table 6: 1e-5, 32 pairs a batch, one epoch, 4,096 tokens."""
    assert training.Settings() == training.Settings(1e-5, 32, 1, 4096)


@pytest.mark.skipif(training.available(), reason="extra [reward] is installed")
def test_without_the_extra_the_command_names_it(tmp_path):
    folder = make_pairs(tmp_path / "r")
    with pytest.raises(CommandError, match=r"attune-platform\[train\]"):
        call_command("train", "reward", release=folder, out=tmp_path / "rm", base="any")


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "reward"}', '{"personas": 3}'])
def test_a_folder_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "attune.json").write_text(content)
    with pytest.raises(training.ModelError, match="holds no model"):
        training.load(tmp_path)


@installed
@pytest.mark.django_db
def test_a_fine_tuned_model_enters_the_table_on_persons_it_has_not_seen(tmp_path, base):
    folder, out = make_pairs(tmp_path / "r"), tmp_path / "rm"
    result = train(
        "reward", folder, out, "--base", str(base), "--hold-out", "0.25", "--epochs", "1",
        "--learning-rate", "0.003", "--batch", "8", "--length", "256",
    )  # fmt: skip
    assert (result["n"], result["folds"], result["metric"]) == (24, 1, "accuracy")
    card = json.loads((out / "attune.json").read_text())
    assert card["trained"]["batch"] == 8
    measured = evaluate(folder, out)
    assert (measured["n"], measured["left_out"]) == (24, 72)
    assert measured["average"]["value"] == pytest.approx(result["value"])
    run = Run.objects.get(status="done")
    assert (run.group, run.model) == ("trained", "rm")
