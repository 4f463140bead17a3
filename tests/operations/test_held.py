"""What is held of a person: all tables that name people are on the page or left out by name."""

import io
import json
import zipfile
from datetime import timedelta

from django.apps import apps
from django.utils import timezone

from annotation.accounts.models import User
from annotation.judging.models import Draft
from annotation.operations import held
from tests.webhooks.conftest import judge

# Who asked for a thing, who decides on whose behalf, or what is told by a table that is held.
NOT_OF_THEM = {"created_by", "accepted_by", "decided_by", "recipient", "made_for"}
NOT_OF_THEM |= {"reserved_for", "withheld_from"}
TOLD_BY_OTHERS = {"api.IdempotentCall", "histories.Passage", "judging.Slot", "studies.MessageRead"}
ASKED_FOR = {"candidates.DocumentFile", "datasets.ReleaseImport", "evaluation.Draw"}
ASKED_FOR |= {"imports.DataImport", "judging.BonusNote"}


def test_every_table_that_names_a_person_is_held_or_left_out_by_name():
    tables = {label for kind in held.HELD for label in kind.tables}
    for model in apps.get_models():
        names = {f.name for f in model._meta.concrete_fields if f.related_model is User}
        label = model._meta.label
        if names - NOT_OF_THEM and not (names == {"by"} and label in ASKED_FOR):
            assert label in tables | TOLD_BY_OTHERS, label
    for label, names in held.LEFT_OUT.items():
        assert names <= {field.name for field in apps.get_model(label)._meta.concrete_fields}


def test_the_page_counts_and_the_zip_holds_what_is_of_the_person_alone(cast, tea, login):
    ann, bo = cast.person("Ann"), cast.person("Bo")
    cast.open(tea, items=2, overlap=2)
    judge(tea, ann)
    judge(tea, bo)
    client = login(ann)
    counts = {str(kind.name): count for kind, count in held.counts(ann)}
    assert (counts["Judgments and comments"], counts["Drafts"]) == (2, 0)
    page = client.get("/held/").content.decode()
    assert "Until you submit, and 365 days after the last change at most." in page
    asked = client.post("/held/export/")
    assert asked.url.startswith("/accounts/reauthenticate/")
    answer = client.post(asked.url, {"password": cast.password, "next": "/held/export/"})
    file = io.BytesIO(b"".join(answer.streaming_content))
    with zipfile.ZipFile(file) as packed:
        rows = {
            name.removesuffix(".jsonl"): [json.loads(line) for line in packed.open(name)]
            for name in packed.namelist()
        }
        text = "".join(packed.read(name).decode() for name in packed.namelist())
    (judgment,) = rows["judging.Judgment"]
    assert judgment["annotator"] == ann.pk
    assert rows["judging.Answer"][0]["judgment"] == judgment["id"]
    assert rows["accounts.User"][0]["email"] == "ann@example.org"
    assert "bo@example.org" not in text
    assert "password" not in rows["accounts.User"][0]


def test_what_stayed_as_long_as_its_rule_allows_is_deleted(cast, tea, settings):
    cast.open(tea, items=2, overlap=1)
    old, new = (
        Draft.objects.create(slot=slot, annotator=cast.person("Ann")) for slot in tea.slots.all()
    )
    days = settings.KEEP_DAYS["drafts"]
    Draft.objects.filter(pk=old.pk).update(saved_at=timezone.now() - timedelta(days, 1))
    Draft.objects.filter(pk=new.pk).update(saved_at=timezone.now() - timedelta(days, -60))
    assert held.sweep() == 1
    assert Draft.objects.get() == new
