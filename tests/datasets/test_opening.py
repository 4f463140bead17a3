"""Every layout opens in the libraries that people use, each table under its published name.

What croissant.json describes is read by mlcroissant itself.
"""

import json

import mlcroissant
import pytest

from annotation.datasets import folders
from tests.datasets.conftest import rows, run_tool
from tests.datasets.test_released import FEW, mix, released  # noqa: F401 - a fixture

TABLES = {
    "personafeedback": {"personas": 1, "memories": 1, "specific": 1, "soft_labels": 2,
                        "annotations": 17},
    "dpo": {"pairs": 1, "pairs_plain": 1, "soft_labels": 2, "annotations": 17},
    "long": {"judgments": 17, "answers": 17, "items": 2, "candidates": 4, "personas": 1,
             "soft_labels": 2},
}  # fmt: skip
LOAD = """
import json, os, datasets
folder = os.getcwd()
names = datasets.get_dataset_config_names(folder)
opened = {name: datasets.load_dataset(folder, name) for name in names}
rows = {name: sum(split.num_rows for split in one.values()) for name, one in opened.items()}
whole = {name: datasets.load_dataset(folder, name, split="all").num_rows for name in names}
first = datasets.load_dataset(folder)
print(json.dumps([rows, whole, {name: list(one) for name, one in opened.items()}]))
"""


# A random model of one layer, and a tokenizer with a chat template of the texts' characters.
TINY = """
import json, torch
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast
texts = "".join(open(PATH).read())
words = {c: n for n, c in enumerate(["?", "$", *sorted(set(json.loads(json.dumps(texts))))])}
raw = Tokenizer(models.WordLevel(words, unk_token="?"))
raw.pre_tokenizer = pre_tokenizers.Split("", "isolated")
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=raw, unk_token="?", eos_token="$", pad_token="$",
    chat_template="{% for m in messages %}{{m.role}}: {{m.content}}$ {% endfor %}")
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
    num_attention_heads=2, num_labels=1, pad_token_id=1, eos_token_id=1, bos_token_id=None)
"""
TRL = """
from transformers import LlamaForCausalLM, LlamaForSequenceClassification
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer
losses = {}
for trainer, settings, model in (
    (DPOTrainer, DPOConfig, LlamaForCausalLM),
    (RewardTrainer, RewardConfig, LlamaForSequenceClassification),
):
    args = settings(
        output_dir="trained", max_steps=3, per_device_train_batch_size=1, logging_steps=1,
        report_to="none", use_cpu=True, save_strategy="no", disable_tqdm=True)
    rows = load_dataset("json", data_files=PATH, split="train")
    model(config).save_pretrained("base")
    run = trainer("base", args=args, train_dataset=rows, processing_class=tokenizer)
    run.train()
    losses[trainer.__name__] = [step["loss"] for step in run.state.log_history if "loss" in step]
print(json.dumps(losses))
"""
REWARDBENCH = """
import sys, types
# Its list of other people's models asks for an older transformers.
sys.modules["rewardbench.models"] = types.SimpleNamespace(
    DPO_MODEL_CONFIG={}, REWARD_MODEL_CONFIG={})
from rewardbench.utils import load_and_process_dataset
rows = load_and_process_dataset(PATH, json=True, tokenizer=tokenizer)
print(json.dumps([rows["text_chosen"][:], rows["text_rejected"][:]]))
"""


@pytest.fixture
def judged(tea, panel):
    panel("1" * 9, "11112222", reason="Because, “so”.")
    mina = tea.personas.get()
    mina.memories.create(text="Ferns.")
    mina.versions.update(profile={"Name": "Mina Park", "Odd": {"a": [1, "b", {"c": None}]}})
    return tea


def load(folder, tmp_path):
    """What ``datasets`` opens: rows a table, rows under split="all", and names of splits."""
    return run_tool(folder, tmp_path, LOAD, "datasets")


@pytest.mark.parametrize(
    ("layout", "format"),
    [("personafeedback", "jsonl"), ("dpo", "jsonl"), ("dpo", "parquet"), ("long", "jsonl"),
     ("long", "csv"), ("long", "parquet")],
)  # fmt: skip
def test_datasets_opens_each_table_that_has_rows(judged, built, tmp_path, layout, format):
    opened, whole, splits = load(folders.folder_of(built(layout, format)), tmp_path)
    assert opened == whole == TABLES[layout]
    if layout == "personafeedback":
        assert splits["specific"] == ["medium"]


def read_everywhere(folder):
    """{path: rows} of the folder's tables, each read by pandas, polars and duckdb alike."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    read = {
        ".jsonl": (lambda path: pandas.read_json(path, lines=True), polars.read_ndjson),
        ".csv": (pandas.read_csv, polars.read_csv),
        ".parquet": (pandas.read_parquet, polars.read_parquet),
    }
    files = json.loads((folder / "manifest.json").read_text())["files"]
    tables = {entry["path"]: entry["rows"] for entry in files if entry["rows"]}
    for name, number in tables.items():
        path = folder / name
        assert [len(how(path)) for how in read[path.suffix]] == [number, number], name
        query = f"SELECT count(*) FROM '{path}'"  # noqa: S608
        assert duckdb.sql(query).fetchall() == [(number,)], name
    return tables


@pytest.mark.parametrize(
    ("layout", "format"),
    [("personafeedback", "jsonl"), ("dpo", "parquet"), ("long", "jsonl"), ("long", "csv"),
     ("long", "parquet")],
)  # fmt: skip
def test_pandas_polars_and_duckdb_read_every_table(judged, built, layout, format):
    read = read_everywhere(folders.folder_of(built(layout, format)))
    assert len(read) >= len(TABLES[layout]), read
    assert read.get("votes.csv", 17) == 17


def test_trl_trains_on_pairs_by_preference_and_reward(judged, built, tmp_path):
    folder = folders.folder_of(built("dpo"))
    code = f"PATH = 'pairs.jsonl'{TINY}{TRL}"
    losses = run_tool(folder, tmp_path, code, "torch", "trl")
    assert {name: len(steps) for name, steps in losses.items()} == {
        "DPOTrainer": 3, "RewardTrainer": 3
    }  # fmt: skip
    # Before the first step both models hold both answers for equally good.
    assert losses["DPOTrainer"][0] == pytest.approx(0.6931, abs=1e-3)
    assert losses["RewardTrainer"][0] == pytest.approx(0.69, abs=0.1)


def test_rewardbench_loads_pairs_with_whole_conversations(judged, built, tmp_path):
    folder = folders.folder_of(built("personafeedback"))
    code = f"PATH = 'harness/rewardbench.jsonl'{TINY}{REWARDBENCH}"
    chosen, rejected = run_tool(folder, tmp_path, code, "torch", "rewardbench", "fastchat")
    pairs = rows(folder, "harness/rewardbench.jsonl")
    for texts, side in ((chosen, "chosen"), (rejected, "rejected")):
        assert texts == [
            "".join(f"{turn['role']}: {turn['content']}$ " for turn in row[side]) for row in pairs
        ]


OF_PAIRS = ("dpo", "personafeedback")
WRITTEN = [("dpo", "jsonl"), ("long", "csv"), ("long", "parquet"), ("personafeedback", "jsonl"),
           ("personalbench", "jsonl")]  # fmt: skip


def records(folder, name):
    return list(mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).records(name))


@pytest.mark.parametrize(("layout", "format"), WRITTEN)
def test_every_record_set_of_a_release_is_read(mix, _data, layout, format):  # noqa: F811
    folder = released(mix, layout, format, **(FEW if layout in OF_PAIRS else {}))
    files = json.loads((folder / "manifest.json").read_text())["files"]
    named = {file["path"].rpartition(".")[0].replace("/", "-"): file["rows"] for file in files}
    described = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    read = {one.id: len(list(described.records(one.id))) for one in described.metadata.record_sets}
    assert {"soft_labels"} < read.keys()
    assert read.items() <= named.items()


def test_lists_of_objects_dates_and_labels_keep_their_values(mix, _data):  # noqa: F811
    folder = released(mix)
    first = rows(folder, "soft_labels.jsonl")[0]
    (shown, *_rest) = records(folder, "soft_labels")
    assert shown["soft_labels/item_id"].decode() == first["item_id"]
    assert [part["soft_labels/labels/n"] for part in shown["soft_labels/labels"]] == [
        part["n"] for part in first["labels"]
    ]
    judgment = rows(folder, "judgments.jsonl")[0]
    (read, *_rest) = records(folder, "judgments")
    assert read["judgments/submitted_at"].date().isoformat() == judgment["submitted_at"][:10]
    assert [text.decode() for text in read["judgments/shown"]] == judgment["shown"]
    # A profile has no type there: the description names it.
    described = json.loads((folder / "croissant.json").read_text())
    texts = {one["name"]: one.get("description") for one in described["recordSet"]}
    assert texts["personas"] == "Also in the file, as JSON: profile."
