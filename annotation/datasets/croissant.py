"""The description of a release in Croissant 1.0, JSON-LD that data set tools read. Pure."""

import json
from typing import Any

from annotation.datasets.card import as_known
from annotation.datasets.writers import Table

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
