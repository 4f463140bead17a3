import json
from pathlib import Path
from typing import Any

import httpx2
from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand
from annotation.datasets.check import check_release, read_manifest


class Command(RefusingCommand):
    help = (
        "Upload a release's folder to the Hugging Face Hub as a private dataset repository. "
        "The token is the client's own (HF_TOKEN, or `hf auth login`)."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument("repository", metavar="REPO", help="such as my-lab/my-benchmark")
        parser.add_argument("--public", action="store_true", help="everybody may read it")
        parser.add_argument(
            "--dry-run", action="store_true", help="check and list, without a network"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, folder: Path, repository: str, **options: Any) -> None:
        """Check the folder, then upload it in one commit."""
        manifest, faults = read_manifest(folder), check_release(folder)
        if faults:
            raise CommandError(f"The release is faulty: {faults[0]['path']} {faults[0]['reason']}.")
        owner, _, name = repository.partition("/")
        if not owner or not name or "/" in name:
            raise CommandError("Name the repository as OWNER/NAME.", returncode=2)
        files = [entry["path"] for entry in manifest["files"]] + ["manifest.json"]
        size = sum(entry["bytes"] for entry in manifest["files"])
        report = {"repository": repository, "private": not options["public"]}
        report |= {"files": len(files), "bytes": size, "uploaded": not options["dry_run"]}
        if not options["dry_run"]:
            report["url"] = _upload(folder, repository, manifest, private=not options["public"])
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        done = "uploaded" if report["uploaded"] else "would be uploaded"
        self.stdout.write(f"{len(files):,} files, {size:,} bytes {done} to {repository}")


def _upload(folder: Path, repository: str, manifest: dict, *, private: bool) -> str:
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import LocalTokenNotFoundError
    except ImportError as error:
        raise CommandError("Install the extra: pip install 'attune-platform[evaluate]'.") from error
    client, study = HfApi(), manifest.get("study", folder.name)
    words = f"{study} release {manifest.get('version', '')}".strip()
    try:
        client.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
        commit = client.upload_folder(
            repo_id=repository, folder_path=folder, repo_type="dataset", commit_message=words
        )
    except (httpx2.HTTPError, LocalTokenNotFoundError, OSError) as error:
        reason = str(error).strip().split("\n")[0][:300]
        raise CommandError(f"The Hub did not take it: {reason}") from error
    return str(commit.commit_url)
