"""The metadata at the head of a dataset card: how ``datasets.load_dataset`` opens each table. Pure.

The library builds all tables of a folder by one reader, so that only tables of one format are
listed, and it opens no empty split.
"""

from collections.abc import Iterator
from typing import cast

import yaml

from annotation.datasets.writers import Table

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
