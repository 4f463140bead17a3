"""The dataset card: what a reader must know before using a release. Pure.

And the same for tools that read data sets: Croissant 1.0, which is JSON-LD.
"""

import json
import re
from collections.abc import ItemsView, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from django.template import Context, Engine, Library, Template

from annotation.datasets import folders, papers
from annotation.datasets.layouts import harness
from annotation.datasets.papers import Paper
from annotation.datasets.writers import LISTS, TYPES, Table, type_of

DAYS = ("collected_from", "collected_to")
# Queries that a remark names on the card; the manifest names all.
REMARKS = 50
# Of the layouts that are no paper's.
LAYOUT_WORDS = {
    "long": (
        "Every judgment, item, candidate, persona and attribute in long form. What judgments say "
        "is in `answers`, a row an answer; `votes.csv` has `task`, `worker`, `label`. Within an "
        "item the judgments stand in the order of submission."
    ),
    "dpo": (
        "Preference pairs (`prompt`, `chosen`, `rejected`) as lists of messages: in `pairs` the "
        "prompt begins with the card of the person whose preference it is, in `pairs_plain` it is "
        "the question alone."
    ),
    "arena": (
        "A row a vote between two answers, under LMArena's columns: `model_a` stood first, both "
        "conversations are whole. `chance` is the probability with which these two were drawn to "
        "meet in a live comparison."
    ),
}


def card(manifest: dict, about: dict, tables: dict[str, tuple[Table, int]]) -> str:
    """Return the text of README.md in Markdown, of the template beside this module.

    ``manifest`` is the release's manifest without its files; ``about`` is of ``as_known``, and has
    ``title``, ``description``, ``languages`` (codes), ``consent`` (name and version, or ""),
    ``licence`` and ``judged``: how many judgments were given ``here``, and how many ``imported``.
    What people wrote is made harmless: it cannot add markup to the card.
    """
    (imported, here), paper = _judged(about), papers.named(manifest["layout"])
    named = {name: manifest[name] for name in ("counts", "rules", "annotators", "material")}
    pairs = named["rules"].get("pairs", {})
    collected = here or not (imported or pairs.get("name") == "imported")
    context = {
        "front": "\n".join(front_matter(about, tables)),
        "number": folders.number_of(manifest["version"], manifest.get("revision", 0)),
        "layout": paper.card.about if paper else LAYOUT_WORDS[manifest["layout"]],
        "scenarios": _scenarios(named["counts"].get("scenarios", {})),
        "sessions": _sessions(named["material"].get("sessions")),
        "survey": manifest.get("survey"),
        "agreed": list(_agreed(manifest["agreement"])),
        "untiered": paper and not paper.layout.TIERED,
        "remarks": list(_remarks(manifest.get("remarks", {}), paper)) if paper else [],
        "drawn": _drawn(named["rules"].get("draws")),
        "imported": imported,
        "here": here,
        "judged": imported + here,
        "cited": list(map(words, _cited(manifest))),
        "known": bool(paper and collected),
        "csv": any(rows and table.path.endswith(".csv") for table, rows in tables.values()),
    }
    context |= _facts(manifest, about) | _opened(tables)
    context |= named | {"manifest": manifest, "about": about, "paper": paper, "pairs": pairs}
    text = _template().render(Context(context, autoescape=False, use_l10n=False))
    return text.rstrip("\n") + "\n"


@cache
def _template() -> Template:
    """The card's template, in which a line that is one tag alone leaves no line."""
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    text = re.sub(r"^(\{%[^%]*%\})\n", r"\1", text, flags=re.MULTILINE)
    return Template(text, engine=Engine(builtins=[__name__]))


def as_known(manifest: dict, about: dict) -> dict:
    """``about`` with the languages of what is in the release; of languages and consent nothing of
    the study's where nobody judged here.
    """
    imported, here = _judged(about)
    corrected = about | ({"languages": [], "consent": ""} if imported and not here else {})
    others = [code for row in _sources(manifest) for code in row["languages"]]
    return corrected | {"languages": list(dict.fromkeys([*corrected["languages"], *others]))}


def _judged(about: dict) -> tuple[int, int]:
    """How many judgments were imported, and how many people gave here."""
    judged = about.get("judged", {})
    return judged.get("imported", 0), judged.get("here", 0)


def _sources(manifest: dict) -> list[dict]:
    """Where imported judgments come from."""
    return [row for row in manifest.get("provenance", ()) if row["judgments"]]


def _cited(manifest: dict) -> list[str]:
    return list(dict.fromkeys(row["citation"] for row in _sources(manifest) if row["citation"]))


def _facts(manifest: dict, about: dict) -> dict[str, str]:
    """What is said of ``languages`` and ``consent``, with what is known of imported judgments."""
    imported, here = _judged(about)
    sources = _sources(manifest)
    languages, consent = listed(about["languages"]) or "not stated", words(about["consent"])
    consent = consent or "none"
    if imported and here:
        stated = any(row["consent"] or row["languages"] for row in sources)
        reference = "see Provenance" if stated else "not known"
        more = f" (of the {imported} imported judgments: {reference})"
        return {"languages": languages + more, "consent": consent + more}
    if imported:
        stated = any(row["consent"] for row in sources)
        consent = "see Provenance" if stated else "not known, as all judgments were imported"
    return {"languages": languages, "consent": consent}


def _sessions(kinds: dict | None) -> dict:
    """Of the published sessions the ``kinds`` in words, ``people``, and each one's extremes."""
    if not kinds:
        return {}
    numbers = {name: kinds[name] for name in ("people", "fewest", "most")}
    named = ", ".join(f"{name} {n}" for name, n in kinds.items() if name not in numbers)
    return numbers | {"kinds": named}


def _scenarios(groups: dict[str, dict[str, int]]) -> list[dict]:
    """How the pairs spread over the scenarios of their questions, the most frequent first."""
    number = {group: sum(names.values()) for group, names in groups.items()}
    whole = sum(number.values())
    return [
        {
            "group": group,
            "pairs": number[group],
            "share": f"{100 * number[group] / whole:.2f}",
            "named": [name for name in sorted(groups[group]) if name],
        }
        for group in sorted(groups, key=lambda group: (-number[group], group))
    ]


def _agreed(agreement: dict) -> Iterator[list[str]]:
    """The cells of each row of the table."""
    for task, entry in agreement.items():
        for group, report in {"all": entry["all"], **entry["tiers"]}.items():
            names = ("percent_agreement", "symmetric_kappa", "fleiss_kappa")
            cells = [_coefficient(report.get(name)) for name in names]
            level, alpha = entry["level"], report.get("krippendorff_alpha")
            # Of a tier there is one, of all items one on each level.
            alpha = _coefficient(alpha.get(level, alpha) if alpha else None)
            yield [words(task), level, str(report["items"]), group, *cells, alpha]


def _coefficient(coefficient: dict | None) -> str:
    found = coefficient or {}
    value, low, high = (decimals(found.get(name)) for name in ("value", "low", "high"))
    return value if "–" in (value, low) else f"{value} ({low} to {high})"


def _opened(tables: dict[str, tuple[Table, int]]) -> dict:
    """The ``configs`` that can be opened, tables that are ``empty``, and files for harnesses."""
    kept = [(table, rows) for table, rows in tables.values() if table.config]
    held = [table.path for table, rows in tables.values() if rows]
    rewards = f"{harness.FOLDER}/rewardbench.jsonl"
    return {
        "configs": list(dict.fromkeys(table.config for table, rows in kept if rows)),
        "empty": [f"`{table.path}`" for table, rows in kept if not rows],
        "choices": any(path.startswith(f"{harness.FOLDER}/choices/") for path in held),
        "rewards": rewards if rewards in held else "",
    }


def _remarks(remarks: dict, paper: Paper) -> Iterator[str]:
    for name, queries in remarks.items():
        shown = ", ".join(f"{query['user']}/{query['query-id']}" for query in queries[:REMARKS])
        more = f" and {len(queries) - REMARKS} more" if len(queries) > REMARKS else ""
        noun = "query" if len(queries) == 1 else "queries"
        yield f"{paper.card.remarks[name]}: {len(queries)} {noun} ({shown}{more})."


def _drawn(draws: list[dict] | None) -> dict[str, list[str]]:
    """The ``tasks`` and ``rules`` by which items were drawn for votes, each once."""
    tasks = dict.fromkeys(draw["task"] for draw in draws or ())
    rules = dict.fromkeys(f"{draw['rule']} (version {draw['version']})" for draw in draws or ())
    return {"tasks": list(tasks), "rules": list(rules)} if draws else {}


# --- Filters of the template ----------------------------------------------------------------------


register = Library()


@register.filter
def words(text: str) -> str:
    """Foreign text on one line, without any character that begins markup."""
    line = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", line)


@register.filter
def listed(texts: Sequence[str]) -> str:
    return ", ".join(map(words, texts))


@register.filter
def counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{words(name)} {n}" for name, n in numbers.items())


@register.filter
def entries(mapping: dict) -> ItemsView:
    """Its keys and values; ``mapping.items`` would look for a key of that name."""
    return mapping.items()


@register.filter
def spaced(name: str) -> str:
    return name.replace("_", " ")


@register.filter
def days(source: dict) -> str:
    """When imported judgments were collected, "" where it is not known."""
    return " to ".join(dict.fromkeys(filter(None, map(source.get, DAYS))))


@register.filter
def decimals(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def front_matter(about: dict, tables: dict[str, tuple[Table, int]]) -> Iterator[str]:
    """Lines of YAML between dashes.

    ``about`` has ``title``, ``languages`` and ``licence``; ``tables`` is what ``Tables.written``
    tells.
    """
    fields = {"pretty_name": about["title"], "language": about["languages"]}
    if about["licence"]:
        fields["license"] = about["licence"]
    fields |= _configs([table for table, rows in tables.values() if table.config and rows])
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1000)
    return iter(["---", *text.rstrip("\n").split("\n"), "---", ""])


def _configs(tables: list[Table]) -> dict:
    if not tables:
        return {}
    configs: dict[str, dict] = {}
    features = []
    for table in tables:
        if table.config not in configs:
            # Without a name the library opens the first table.
            default = {} if configs else {"default": True}
            configs[table.config] = {"config_name": table.config, "data_files": [], **default}
            # Of formats that name no types a column could begin with thousands of rows that look
            # like those of another type.
            if table.format in ("jsonl", "csv"):
                columns = [_feature(table.format, *column) for column in table.columns.items()]
                features.append({"config_name": table.config, "features": columns})
        configs[table.config]["data_files"].append({"split": table.split, "path": table.path})
    return {"configs": list(configs.values())} | ({"dataset_info": features} if features else {})


def _feature(format: str, name: str, kind: str | list) -> dict:
    if format == "csv":
        return {"name": name, "dtype": type_of(kind).csv}
    if isinstance(kind, list):
        return {"name": name, "list": [_feature(format, *column) for column in kind[0].items()]}
    if kind in LISTS:
        return {"name": name, "list": LISTS[kind]}
    return {"name": name, "dtype": TYPES[kind].feature}


# --- Croissant ------------------------------------------------------------------------------------


CROISSANT = "croissant.json"


def _terms(names: str) -> dict[str, str]:
    return {name: f"cr:{name}" for name in names.split()}


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **_terms("citeAs column"),
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **_terms("extract field fileProperty fileObject fileSet format includes isLiveDataset"),
    **_terms("jsonPath key md5 parentField path recordSet references regex repeated replace"),
    "sc": "https://schema.org/",
    **_terms("separator source subField transform"),
}
_ENCODINGS = {
    "jsonl": "application/jsonlines",
    "csv": "text/csv",
    "parquet": "application/x-parquet",
    "md": "text/markdown",
}


def croissant(
    manifest: dict, about: dict, tables: dict[str, tuple[Table, int]], files: list[dict]
) -> str:
    """The text of croissant.json; the arguments as of ``card``, and the written ``files``."""
    sources = _sources(manifest)
    described: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"{manifest['study']}-{manifest['version']}",
        "alternateName": about["title"],
        "description": about["description"] or f"Judgments of the study “{about['title']}”.",
        "identifier": manifest["release"],
        "version": f"{manifest['version']}.{manifest.get('revision', 0)}.0",
        "datePublished": manifest["created_at"][:10],
        "license": about["licence"] or "not stated",
        "citeAs": "; ".join(_cited(manifest)) or f"{about['title']}, release {manifest['version']}",
        "inLanguage": about["languages"],
        "rai:dataCollection": " ".join(_collected(manifest, about)),
        "rai:dataCollectionTimeframe": [row[name] for row in sources for name in DAYS if row[name]],
        "isBasedOn": [_source(row) for row in manifest["provenance"]],
        "distribution": [_file(entry) for entry in files],
        "recordSet": [
            records
            for table, rows in tables.values()
            if table.config and rows
            for entry in files
            # The path of a table in several files is a pattern.
            if fnmatchcase(path := entry["path"], table.path)
            if (records := _records(table, path))["field"]
        ],
    }
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


def _collected(manifest: dict, about: dict) -> list[str]:
    judged = about["judged"]
    said = [f"{judged['here']} judgments were given here."] if judged["here"] else []
    if judged["imported"]:
        said.append(f"{judged['imported']} judgments were imported.")
    for row in manifest["provenance"]:
        consent = row["consent"] or "not known"
        said.append(f"{row['source'] or row['file']}: consent: {consent}.")
    return said


def _source(row: dict) -> dict:
    source = {
        "name": row["source"] or row["file"],
        "citation": row["citation"],
        "license": row["licence"],
        "temporalCoverage": "/".join(row[name] for name in DAYS if row[name]),
        "inLanguage": row["languages"],
    }
    return {"@type": "sc:CreativeWork"} | {key: value for key, value in source.items() if value}


def _file(entry: dict) -> dict:
    return {
        "@type": "cr:FileObject",
        "@id": entry["path"],
        "name": entry["path"],
        "contentUrl": entry["path"],
        "contentSize": f"{entry['bytes']} B",
        "encodingFormat": _ENCODINGS.get(entry["path"].rpartition(".")[2], "text/plain"),
        "sha256": entry["sha256"],
    }


def _records(table: Table, path: str) -> dict:
    name, ending = path.rsplit(".", 1)
    name = name.replace("/", "-")
    # Objects whose keys nobody knows have no type in Croissant; Parquet and CSV hold them as text.
    shown = {of: kind for of, kind in table.columns.items() if (kind, ending) != ("json", "jsonl")}
    free = [column for column in table.columns if column not in shown]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        **({"description": f"Also in the file, as JSON: {', '.join(free)}."} if free else {}),
        "field": [_field(name, path, column, kind) for column, kind in shown.items()],
    }


def _field(records: str, path: str, column: str, kind: str | list) -> dict:
    source = {"fileObject": {"@id": path}, "extract": {"column": column}}
    if isinstance(kind, list) and not path.endswith(".csv"):
        keys = [_key(f"{records}/{column}", source, name, of) for name, of in kind[0].items()]
        return _named(records, column) | {"repeated": True, "subField": keys}
    several = str(kind) in LISTS and not path.endswith(".csv")
    return {
        **_named(records, column),
        "dataType": _data_type(column, kind),
        **({"repeated": True} if several else {}),
        "source": source,
    }


def _key(parent: str, source: dict, name: str, kind: str) -> dict:
    """A key of the objects in a list."""
    found = source | {"transform": {"jsonPath": name}}
    return _named(parent, name) | {"dataType": _data_type(name, kind), "source": found}


def _named(parent: str, name: str) -> dict:
    return {"@type": "cr:Field", "@id": f"{parent}/{name}", "name": name}


def _data_type(column: str, kind: str | list) -> str:
    # Readers make dates of such columns of JSON lines whatever their type.
    return "sc:Date" if column.endswith("_at") else f"sc:{type_of(kind).croissant}"
