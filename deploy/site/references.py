"""The site's pages that are made and not written, the start and three references; its versions."""

import json
import logging
import os
import re
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from annotation.product import __version__

ROOT = Path(__file__).parents[2]
STATISTICS = ROOT / "annotation" / "agreement" / "statistics"


def openapi() -> str:
    """A section for each call of the API: what it does, its parameters, bodies and answers."""
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"ATTUNE_DATA": data, "DJANGO_SETTINGS_MODULE": "annotation.settings"}
        import django

        django.setup()
        from drf_spectacular.generators import SchemaGenerator

        logging.disable(logging.WARNING)  # no Redis counts calls here
        schema = SchemaGenerator().get_schema(public=True)
        logging.disable(logging.NOTSET)
    lines = ["# Reference of the API", "", "Made of the OpenAPI document at `/api/schema/`."]
    for path, calls in sorted(schema["paths"].items()):
        for method, call in calls.items():
            lines += ["", f"## `{method.upper()} {path}`", "", call.get("description", "")]
            lines += ["", *(_parameter(one) for one in call.get("parameters", ()))]
            for status, answer in call["responses"].items():
                lines.append(f"- **{status}** {answer.get('description', '')} {_model(answer)}")
            if "requestBody" in call:
                lines.append(f"- **body** {_model(call['requestBody'])}")
    lines += ["", "## Schemas"]
    for name, model in sorted(schema["components"]["schemas"].items()):
        lines += ["", f"### {name}", "", model.get("description", ""), ""]
        required = model.get("required", ())
        for field, kind in model.get("properties", {}).items():
            need = ", required" if field in required else ""
            words = kind.get("description", "").replace("\n", " ")
            lines.append(f"- `{field}` ({_kind(kind)}{need}) {words}")
    return "\n".join(lines)


def _parameter(one: dict) -> str:
    return f"- `{one['name']}` ({one['in']}, {_kind(one['schema'])}) {one.get('description', '')}"


def _kind(kind: dict) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "items" in kind:
        return f"list of {_kind(kind['items'])}"
    choices = [*kind.get("oneOf", ()), *kind.get("allOf", ()), *kind.get("anyOf", ())]
    if choices:
        return " or ".join(map(_kind, choices))
    words = kind.get("type", "any")
    return " or ".join(words) if isinstance(words, list) else words


def _model(answer: dict) -> str:
    kinds = {_kind(content["schema"]) for content in answer.get("content", {}).values()}
    return " or ".join(sorted(kinds))


def start() -> str:
    """The README, with its links as they are seen from the documents' folder."""
    words = (ROOT / "README.md").read_text("utf-8")
    words = words.replace("](docs/", "](").replace('src="docs/', 'src="')
    # Files beside the documents are no pages of the site.
    return re.sub(r"\[([^\]]+)\]\((?!https?:|[\w-]+\.md|#|images/)[^)]+\)", r"\1", words)


def statistics() -> str:
    """Every module of the package `attune-agreement`."""
    names = sorted(path.stem for path in STATISTICS.glob("[a-z]*.py"))
    modules = [f"::: annotation.agreement.statistics.{name}" for name in names]
    return "# Reference of the statistics\n\n" + "\n\n".join(modules)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Build into a folder of this version, 1.2 for 1.2.3."""
    config.site_dir = str(Path(config.site_dir) / __version__.rpartition(".")[0])
    return config


def on_post_build(config: MkDocsConfig) -> None:
    """List the versions that are there, the newest first; the folder above leads to that."""
    above = Path(config.site_dir).parent
    names = [path.name for path in above.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    names.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in names]
    (above / "versions.json").write_text(json.dumps(listed), "utf-8")
    start = f'<!doctype html><meta http-equiv="refresh" content="0; url={names[0]}/index.html">'
    (above / "index.html").write_text(start, "utf-8")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    pages = {
        "index.md": start(),
        "reference-api.md": openapi(),
        "reference-client.md": "# Reference of the client\n\n::: attune_client\n",
        "reference-statistics.md": statistics(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **kwargs: object) -> str:
    """Name files of the repository, to which no page of the site leads, without a link."""
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", markdown)
