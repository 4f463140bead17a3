"""The dataset card: what a reader must know before using a release. Pure.

And the same for tools that read data sets: Croissant 1.0, which is JSON-LD.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import yaml

from annotation.datasets import folders, papers
from annotation.datasets.layouts import harness
from annotation.datasets.papers import Paper
from annotation.datasets.writers import Table

DAYS = ("collected_from", "collected_to")
# Queries that a remark names on the card; the manifest names all.
REMARKS = 50
# Of the layouts that are no paper's.
LAYOUT_WORDS = {
    "long": (
        "Every judgment, item, answer, persona and attribute in long form, and `votes.csv` with "
        "`task`, `worker`, `label`. Within an item the judgments stand in the order of submission."
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


def card(manifest: dict, about: dict, tables: dict) -> str:
    """Return the text of README.md in Markdown.

    ``manifest`` is the release's manifest without its files; ``about`` has ``title``,
    ``description``, ``languages`` (codes), ``consent`` (name and version, or ""), ``licence`` and
    ``judged``: how many judgments were given ``here``, and how many ``imported``, of which nothing
    is said that is not known. What people wrote is made harmless: it cannot add markup to the card.
    """
    imported, here = _judged(about)
    about = as_known(manifest, about)
    paper = papers.named(manifest["layout"])
    return "\n".join(
        [
            *front_matter(about, tables),
            f"# {_words(about['title'])}, release {_number(manifest)}",
            "",
            _words(about["description"]) or "The study gives no description.",
            "",
            paper.card.about if paper else LAYOUT_WORDS[manifest["layout"]],
            "",
            *_facts(manifest, about),
            *_provenance(manifest.get("provenance", ())),
            *_counts(manifest["counts"]),
            *_described(manifest["annotators"], manifest["material"]),
            *_people(manifest.get("survey"), manifest["counts"]["workers"]),
            *_agreement(manifest["agreement"]),
            *_opening(tables),
            *_harnesses(tables),
            *_limits(manifest, paper, imported),
            *_checking(),
            *_method(manifest, paper, imported, here),
        ]
    )


def as_known(manifest: dict, about: dict) -> dict:
    """``about`` with the languages of what is in the release; no consent of the study's where
    nobody judged here.
    """
    imported, here = _judged(about)
    languages = [] if imported and not here else about["languages"]
    sources = [row for row in manifest.get("provenance", ()) if row["judgments"]]
    others = [code for row in sources for code in row["languages"]]
    known = {"languages": list(dict.fromkeys([*languages, *others]))}
    return about | known | ({"consent": ""} if imported and not here else {})


def _provenance(sources: Sequence[dict]) -> Iterator[str]:
    """What is known of where imported rows come from, and what is not."""
    if not sources:
        return
    yield from ("## Provenance", "")
    for row in sources:
        name = _words(row["source"] or row["file"])
        number = f"{row['judgments']} judgments" if row["judgments"] else "questions and answers"
        days = " to ".join(dict.fromkeys(filter(None, map(row.get, DAYS))))
        known = {
            "cited as": _words(row["citation"]),
            "licence": _words(row["licence"]),
            "collected": days,
            "consent": _words(row["consent"]),
            "languages": ", ".join(map(_words, row["languages"])),
        }
        facts = "; ".join(f"{key}: {value or 'not known'}" for key, value in known.items())
        yield f"- {name}, imported ({number}): {facts}."
    yield ""


def _judged(about: dict) -> tuple[int, int]:
    """How many judgments were imported, and how many people gave here."""
    judged = about.get("judged", {})
    return judged.get("imported", 0), judged.get("here", 0)


def _facts(manifest: dict, about: dict) -> Iterator[str]:
    imported, here = _judged(about)
    sources = [row for row in manifest.get("provenance", ()) if row["judgments"]]
    languages = ", ".join(map(_words, about["languages"])) or "not stated"
    consent = _words(about["consent"]) or "none"
    if imported and here:
        told = any(row["consent"] or row["languages"] for row in sources)
        known = "see Provenance" if told else "not known"
        languages += f" (of the {imported} imported judgments: {known})"
        consent += f" (of the {imported} imported judgments: {known})"
    elif imported:
        consent = "not known, as all judgments were imported"
        if any(row["consent"] for row in sources):
            consent = "see Provenance"
    yield from ("## Facts", "")
    yield f"- Study: {manifest['study']}, release {_number(manifest)} of {manifest['created_at']}"
    yield f"- Id: {manifest['release']}"
    for entry in manifest.get("replaces", ()):
        old = f"{entry['version']} (SHA-256 of its manifest: {entry['digest']})"
        yield f"- Takes the place of {old}: {entry['reason']}"
    yield f"- Layout and format: {manifest['layout']}, {manifest['format']}"
    yield f"- Languages: {languages}"
    yield f"- Consent text: {consent}"
    yield f"- Licence: {_words(about['licence']) or 'not stated'}"
    yield ""


def _number(manifest: dict) -> str:
    return folders.number_of(manifest["version"], manifest.get("revision", 0))


def _counts(counts: dict) -> Iterator[str]:
    yield from ("## Counts", "", "| what | number |", "|---|---|")
    for name in ("personas", "items", "judgments", "workers", "withdrawn"):
        yield f"| {name} | {counts[name]} |"
    for tier, number in counts["pairs"].items():
        yield f"| pairs: {tier} | {number} |"
    for kind, reasons in counts["left_out"].items():
        for reason, number in reasons.items():
            yield f"| no pair ({kind.replace('_', ' ')}): {reason.replace('_', ' ')} | {number} |"
    yield ""
    yield from _scenarios(counts.get("scenarios", {}))
    if counts["labels"]:
        yield from ("Votes by the strategy of the chosen answer:", "")
        yield from ("| task | label | votes |", "|---|---|---|")
    for task, labels in counts["labels"].items():
        for label, number in labels.items():
            yield f"| {_words(task)} | {_words(label)} | {number} |"
    yield ""


def _described(annotators: dict, material: dict) -> Iterator[str]:
    """Who judged here under which conditions, and what they were shown."""
    training, hours = annotators["training"], annotators["hours"]
    trained = "not known"
    if training:
        trained = f"{training['items']} items, done by {training['people']} of them"
        trained = trained if training["items"] else "none"
    spoken = ", ".join(f"{_words(name)} {n}" for name, n in material["languages"].items())
    yield from ("## Annotators and material", "")
    yield f"- People who judged here: {annotators['here']}"
    yield f"- Training: {trained}"
    yield f"- Pay: {_words(annotators['pay'] or 'not known')}"
    yield f"- Hours at the judging page: {'not known' if hours is None else hours}"
    yield f"- Pilots: {annotators['pilots'] or 'not known'}"
    yield f"- Questions: {material['queries']}, of {material['scenarios']} named scenarios"
    yield f"- Their languages, or scripts where none is stored: {spoken or 'not known'}"
    if "sessions" in material:
        kinds = dict(material["sessions"])
        people, fewest, most = (kinds.pop(name) for name in ("people", "fewest", "most"))
        listed = ", ".join(f"{name} {n}" for name, n in kinds.items())
        yield f"- Published sessions: {listed}; of {people} people, {fewest} to {most} each"
    yield ""


def _people(survey: dict | None, workers: int) -> Iterator[str]:
    """Who judged, as far as people said it of themselves and enough of them share it."""
    if not survey:
        return
    yield from ("## Who judged", "")
    if "told_in" in survey:
        yield (
            f"What people say of themselves is told in release {survey['told_in']}: since then "
            f"fewer than {survey['least']} people of a group came or left, and both releases "
            "together would tell who."
        )
        yield ""
        return
    yield (
        f"{survey['people']} of {workers} people answered questions about themselves (version "
        f"{survey['version']}); of {survey['released']} something is told. What fewer than "
        f"{survey['least']} people share is not told, in no combination of questions."
    )
    yield from ("", "| question | answers | told | Shannon's evenness |", "|---|---|---|---|")
    for row in survey["questions"]:
        counts = ", ".join(f"{_words(choice)} {n}" for choice, n in row["choices"].items())
        even = "–" if row["evenness"] is None else f"{row['evenness']:.3f}"
        yield f"| {_words(row['question'])} | {row['people']} | {counts or '–'} | {even} |"
    yield ""


def _scenarios(groups: dict[str, dict[str, int]]) -> Iterator[str]:
    """How the pairs spread over the scenarios of their questions, the most frequent first."""
    if not groups:
        return
    number = {group: sum(names.values()) for group, names in groups.items()}
    whole = sum(number.values())
    yield from ("Pairs by the scenario of their question:", "")
    yield from ("| scenario | pairs | per cent | named |", "|---|---|---|---|")
    for group in sorted(groups, key=lambda group: (-number[group], group)):
        named = ", ".join(_words(name) for name in sorted(groups[group]) if name)
        share = 100 * number[group] / whole
        yield f"| {group} | {number[group]} | {share:.2f} | {named or '–'} |"
    yield ""


def _agreement(agreement: dict) -> Iterator[str]:
    yield from ("## Agreement", "")
    yield (
        "Of the votes that the tier rule uses, with 95 % intervals over items. Alpha is on the "
        "level that is named."
    )
    yield ""
    yield (
        "| task | level | items | group | percent agreement | symmetric kappa | Fleiss' kappa "
        "| Krippendorff's alpha |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for task, entry in agreement.items():
        for group, report in {"all": entry["all"], **entry["tiers"]}.items():
            names = ("percent_agreement", "symmetric_kappa", "fleiss_kappa")
            cells = " | ".join(_coefficient(report.get(name)) for name in names)
            level, alpha = entry["level"], report.get("krippendorff_alpha")
            # Of a tier there is one, of all items one on each level.
            alpha = _coefficient(alpha.get(level, alpha) if alpha else None)
            size = f"{level} | {report['items']} | {group}"
            yield f"| {_words(task)} | {size} | {cells} | {alpha} |"
    yield ""


def _coefficient(coefficient: dict | None) -> str:
    if not coefficient or coefficient["value"] is None:
        return "–"
    if coefficient.get("low") is None:
        return f"{coefficient['value']:.3f}"
    return f"{coefficient['value']:.3f} ({coefficient['low']:.3f} to {coefficient['high']:.3f})"


def _opening(tables: dict) -> Iterator[str]:
    names = dict.fromkeys(table.config for table, rows in tables.values() if table.config and rows)
    empty = [table.path for table, rows in tables.values() if table.config and not rows]
    yield from ("## How to open it", "", "```python", "from datasets import load_dataset", "")
    yield from (f'{name} = load_dataset("DIR", "{name}")' for name in names)
    yield from ("```", "")
    if empty:
        yield f"Empty, and left out there: {', '.join(f'`{path}`' for path in empty)}."
        yield ""


def _harnesses(tables: dict) -> Iterator[str]:
    held = [table.path for table, rows in tables.values() if rows]
    if not any(path.startswith(f"{harness.FOLDER}/choices/") for path in held):
        return
    yield from ("## How to evaluate a model", "", "In this folder, all in both orders:", "")
    yield from ("```sh", "lm_eval --include_path harness/lm_eval --tasks attune --model hf …")
    yield "lm_eval --include_path harness/lm_eval --tasks attune_chat --apply_chat_template …"
    yield from ("inspect eval harness/inspect_task.py --model openai/…", "```", "")
    yield "`attune_chat` and Inspect read verdicts as Attune's own `evaluate` does: what names no"
    yield "answer clearly is not right, and counts in `unparsed_share`."
    if (path := f"{harness.FOLDER}/rewardbench.jsonl") in held:
        yield f"`{path}` is for reward models: `rewardbench --dataset … --load_json`."
    yield ""


def _remarks(remarks: dict, words: Mapping[str, str]) -> Iterator[str]:
    for name, queries in remarks.items():
        listed = ", ".join(f"{query['user']}/{query['query-id']}" for query in queries[:REMARKS])
        more = f" and {len(queries) - REMARKS} more" if len(queries) > REMARKS else ""
        yield f"- {words[name]}: {len(queries)} queries ({listed}{more})."


def _limits(manifest: dict, paper: Paper | None, imported: int) -> Iterator[str]:
    yield from ("## Limits", "")
    if paper and not paper.layout.TIERED:
        yield from (f"- {limit}" for limit in paper.card.limits)
    elif manifest["rules"]["pairs"]["name"] in ("majority", "more-than-half"):
        pairs = manifest["rules"]["pairs"]
        half = " and more than half of all votes" if pairs["name"] == "more-than-half" else ""
        yield (
            f"- Pairs come from a majority of at least {pairs['min_votes']} votes, whose winner "
            f"has at least {pairs['min_margin']} more than the next label{half}; they "
            "have no tiers."
        )
    elif manifest["rules"]["pairs"]["name"] == "imported":
        yield "- Pairs and tiers are those of an imported release: no vote stands behind them."
    else:
        yield from _tier_limits(manifest["rules"])
    if paper:
        yield from _remarks(manifest.get("remarks", {}), paper.card.remarks)
    yield "- Workers and users have names of this release alone; times are given to the day."
    if imported:
        yield (
            f"- {imported} judgments were imported. Where their file gave no time, `submitted_at` "
            "is empty."
        )
    if proposals := manifest.get("proposals"):
        whether = "are left out" if proposals["left_out"] else "are among them"
        yield (
            f"- {proposals['judgments']} judgments began from a proposal, a model's verdict or "
            f"another person's answer, which draws people along: they {whether}."
        )
    if draws := manifest["rules"].get("draws"):
        rules = ", ".join(dict.fromkeys(f"{draw['rule']} (version {draw['version']})"
                                        for draw in draws))  # fmt: skip
        yield (
            f"- Items of {', '.join(dict.fromkeys(draw['task'] for draw in draws))} were drawn for "
            f"votes by rule: {rules}. Weigh each by one over its `chance` (table `items` of the "
            "long form), or what is drawn more often counts too much."
        )
    yield "- Reasons are the annotators' own words: read them before you publish them."
    if manifest["counts"]["withdrawn"]:
        yield "- People who withdrew their consent before this release are not in it."
    if manifest["rules"]["csv"] == "safe":
        yield "- CSV cells that begin like a formula have an apostrophe before them."
    yield ""


def _tier_limits(rules: dict) -> Iterator[str]:
    yield "- Tiers describe groups of items: the tier of a single item is noisy."
    yield "- A tier picked from votes looks more agreed upon than new annotators would find it."
    if rules["tiers"]["filled"]:
        yield f"- {rules['tiers']['filled']} borderline items were taken into the hard tier."
    yield f"- Easy pairs are not voted into being. {_audited(rules['easy'].get('audit'))}"
    if rules["easy"]["note"]:
        yield f"- {rules['easy']['note']}"


def _audited(audit: dict | None) -> str:
    if not audit or not audit["audited"]:
        return "This release does not audit them."
    return f"{audit['audited']} of {audit['pairs']} were audited by new votes."


def _checking() -> Iterator[str]:
    yield from ("## How to check it", "")
    yield "`manifest.json` lists every file with its rows, bytes and SHA-256. With Attune:"
    yield from ("", "    python manage.py check_release DIR", "")


def _method(manifest: dict, paper: Paper | None, imported: int, here: int) -> Iterator[str]:
    known = here or not (imported or manifest["rules"]["pairs"]["name"] == "imported")
    if not imported and not (paper and known):
        return
    yield from ("## Method", "")
    if imported:
        which = f"{imported} of the {imported + here}" if here else "All"
        cited = [row["citation"] for row in manifest.get("provenance", ()) if row["judgments"]]
        how = "; ".join(_words(text) for text in dict.fromkeys(cited) if text)
        said = f"was said there: {how}" if how else "is not known here"
        yield f"{which} judgments were imported: how they were collected {said}."
    if paper and known:
        only = f", the {here} given here alone" if imported else ""
        title = f"“{paper.title}”{only}"
        yield f"Collected after the method of the paper {title}; cite it by its title."
    yield ""


def _words(text: str) -> str:
    """Foreign text on one line, without any character that begins markup."""
    line = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", line)


DTYPES = {
    "text": "string",
    "integer": "int64",
    "integer or none": "int64",
    "number": "float64",
    "boolean": "bool",
    "json": "json",
}
# All else is a text in CSV. The library opens it by pandas, whose integers cannot be missing.
CSV_DTYPES = {
    "integer": "int64",
    "integer or none": "float64",
    "number": "float64",
    "boolean": "bool",
}
LISTS = {"texts": "string", "integers": "int64", "numbers": "float64"}


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
    configs, features = {}, []
    for table in tables:
        if table.config not in configs:
            entry = {"config_name": table.config, "data_files": []}
            # Without a name the library opens the first table.
            configs[table.config] = entry if configs else entry | {"default": True}
            if table.format in FEATURES:
                feature = FEATURES[table.format]
                columns = [feature(name, kind) for name, kind in table.columns.items()]
                features.append({"config_name": table.config, "features": columns})
        files = {"split": table.split, "path": table.path}
        cast(list, configs[table.config]["data_files"]).append(files)
    return {"configs": list(configs.values())} | ({"dataset_info": features} if features else {})


def _feature(name: str, kind: str | list) -> dict:
    if isinstance(kind, list):
        return {"name": name, "list": [_feature(key, entry) for key, entry in kind[0].items()]}
    if kind in LISTS:
        return {"name": name, "list": LISTS[kind]}
    return {"name": name, "dtype": DTYPES[kind]}


def _csv_feature(name: str, kind: str | list) -> dict:
    return {"name": name, "dtype": CSV_DTYPES.get(str(kind), "string")}


# Of formats that name no types: a column could begin with thousands of rows that look like another.
FEATURES = {"jsonl": _feature, "csv": _csv_feature}


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
_TYPES = {
    "integer": "sc:Integer",
    "integer or none": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
}


def croissant(
    manifest: dict, about: dict, tables: dict[str, tuple[Table, int]], files: list[dict]
) -> str:
    """The text of croissant.json; the arguments as of ``card``, and the written ``files``."""
    about = as_known(manifest, about)
    sources = [row for row in manifest["provenance"] if row["judgments"]]
    cited = list(dict.fromkeys(row["citation"] for row in sources if row["citation"]))
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
        "citeAs": "; ".join(cited) or f"{about['title']}, release {manifest['version']}",
        "inLanguage": about["languages"],
        "rai:dataCollection": " ".join(_collected(manifest, about)),
        "rai:dataCollectionTimeframe": [
            row[name] for row in sources for name in ("collected_from", "collected_to") if row[name]
        ],
        "isBasedOn": [_source(row) for row in manifest["provenance"]],
        "distribution": [_file(entry) for entry in files],
        "recordSet": [
            records
            for table, rows in tables.values()
            if table.config and rows
            for entry in files
            if _is_of(table, entry["path"]) and (records := _records(table, entry["path"]))["field"]
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
    days = [row[name] for name in ("collected_from", "collected_to") if row[name]]
    known = {
        "name": row["source"] or row["file"],
        "citation": row["citation"],
        "license": row["licence"],
        "temporalCoverage": "/".join(days),
        "inLanguage": row["languages"],
    }
    return {"@type": "sc:CreativeWork"} | {key: value for key, value in known.items() if value}


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


def _is_of(table: Table, path: str) -> bool:
    """Whether the file is the table, or one of its shards."""
    begin, star, end = table.path.partition("*")
    return path == table.path or bool(star and path.startswith(begin) and path.endswith(end))


def _records(table: Table, path: str) -> dict:
    name, ending = path.rsplit(".", 1)
    name = name.replace("/", "-")
    # Objects whose keys nobody knows have no type in Croissant; Parquet and CSV hold them as text.
    free = [
        column for column, kind in table.columns.items() if kind == "json" and ending == "jsonl"
    ]
    shown = {column: kind for column, kind in table.columns.items() if column not in free}
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
    several = kind in ("texts", "integers", "numbers") and not path.endswith(".csv")
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
    return "sc:Date" if column.endswith("_at") else _TYPES.get(str(kind), "sc:Text")
