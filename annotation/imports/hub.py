"""Fetches a table of a data set on the Hugging Face Hub."""

import os
import zipfile
from pathlib import Path

import httpx2
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.core.errors import DomainError
from annotation.core.schema import asked
from annotation.imports.readers import TABLE_ENDINGS, are_shards

LISTED = 20


@schema(frozen=True)
class HubTable:
    """A table of a data set: its file, or shards, are those of this configuration and split."""

    hub: str = asked(
        gettext_lazy("Data set on the Hugging Face Hub"), "", "owner/name", max_length=200
    )
    config: str = asked(
        gettext_lazy("Configuration"), "", gettext_lazy("A part of the file's path"), max_length=200
    )
    split: str = asked(
        gettext_lazy("Split"), "", gettext_lazy("A part of the file's name"), max_length=200
    )
    revision: str = asked(gettext_lazy("Branch, tag or commit"), "", max_length=200)


def fetch(wanted: HubTable, folder: Path) -> tuple[Path, str]:
    """The file of ``wanted`` in ``folder``, and its address with the commit.

    DomainError where there is no connection, no such data set, or not exactly one such table. The
    shards of a table come as a zip of them.
    """
    try:
        from huggingface_hub import HfApi, constants
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
        )
    except ImportError as error:
        sentence = _("Install the extra: pip install 'attune-platform[evaluate]'.")
        raise DomainError(sentence) from error
    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    # Without the installation's token, with which curators would read its owner's private data.
    api = HfApi(endpoint=endpoint, token=False)
    try:
        info = api.dataset_info(
            wanted.hub, revision=wanted.revision or None, files_metadata=True, timeout=20
        )
        names = _files_of(wanted, {f.rfilename: f.size or 0 for f in info.siblings or ()})
        paths = [
            api.hf_hub_download(
                wanted.hub, name, repo_type="dataset", revision=info.sha, local_dir=folder
            )
            for name in names
        ]
    except HFValidationError as error:
        raise DomainError(_("A data set is called owner/name.")) from error
    except HfHubHTTPError as error:
        words = {"name": wanted.hub, "status": error.response.status_code}
        raise DomainError(
            _("The Hub does not give “%(name)s” (status %(status)s): is it public?") % words
        ) from error
    except (httpx2.HTTPError, LocalEntryNotFoundError, OSError) as error:
        words = {"address": endpoint}
        raise DomainError(
            _("%(address)s cannot be reached from here. Send the file itself.") % words
        ) from error
    path = Path(paths[0]) if len(paths) == 1 else _zipped(paths, folder / "shards.zip")
    return path, f"{wanted.hub}, {endpoint}/datasets/{wanted.hub}/tree/{info.sha}"


def _zipped(paths: list[str], path: Path) -> Path:
    """The shards of a table as one file, as they are."""
    with zipfile.ZipFile(path, "w") as archive:
        for shard in paths:
            archive.write(shard, Path(shard).name)
    return path


def _files_of(wanted: HubTable, sizes: dict[str, int]) -> list[str]:
    """The table among files {name: bytes} that has the configuration and split: its shards."""
    names = [name for name in sizes if name.lower().endswith(TABLE_ENDINGS)]
    for part in filter(None, (wanted.config, wanted.split)):
        names = [name for name in names if part in name]
    names.sort()
    if len(names) != 1 and not are_shards(names):
        listed = ", ".join((names or list(sizes))[:LISTED]) or "–"
        words = {"n": len(names), "files": listed}
        raise DomainError(
            _("%(n)d tables fit: name configuration and split. There are: %(files)s.") % words
        )
    if sum(sizes[name] for name in names) > settings.IMPORT_MAX_BYTES:
        raise DomainError(_("“%s” is larger than imports may be.") % names[0])
    return names
