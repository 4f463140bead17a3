"""The pages under "Data", their job, and the same over the API."""

import io
import json
import re
import zipfile
from collections import Counter

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from annotation.agreement import recompute
from annotation.agreement.models import AgreementResult
from annotation.imports import recipes, run
from annotation.imports.models import DataImport, ImportRecipe
from annotation.imports.tables import Beginning
from annotation.judging.models import Answer
from annotation.studies.models import Study
from tests.corpora import DATA
from tests.imports.test_import_data import PERSONAMEM

PAIRS = b"prompt,answer_a,answer_b,winner,rater,nedd\nWhy?,x,,B,ann,n\nHow?,x,y,Z,bo,n\n"


def send(client, content=PAIRS, name="pairs.csv"):
    """Send a file, and look into it as a worker does."""
    sent = client.post("/studies/tea/data/", {"file": SimpleUploadedFile(name, content)})
    run.run(DataImport.objects.latest("created_at").pk)
    return sent


def take(client, address, **given):
    """Ask for the import of the newest file, and carry it out as a worker does."""
    client.post(address, {"action": "import", "leave": "1"} | given)
    return run.run(DataImport.objects.latest("created_at").pk)


def fields(**given):
    mapping = {
        "becomes-prompt": "prompt",
        "becomes-answer_a": "answer_a",
        "becomes-answer_b": "answer_b",
        "becomes-winner": "label",
        "becomes-rater": "worker",
    }
    return mapping | {"action": "import"} | given


def test_a_file_is_mapped_previewed_and_imported(carol, tea):
    address = send(carol).url
    page = carol.get(address).content.decode()
    assert "did you mean “need”?" in page
    assert "an empty answer" in page
    assert "“Z” is none of its answers, no tie and not none" in page
    assert not tea.queries.exists()
    row = DataImport.objects.get()
    done = take(carol, address, **fields(skip_faults="on"))
    assert (done.status, done.rejected, done.unknown) == ("done", 1, ["nedd"])
    assert (done.counts["queries"], done.counts["items"], done.counts["votes"]) == (1, 1, 1)
    assert not run.UPLOADS.path_of(row.stored).exists()
    page = carol.get(address).content.decode()
    assert "1 faulty line" in page
    csv = b"".join(carol.get(f"{address}faults.csv").streaming_content).decode()
    assert csv.splitlines()[1].startswith("3,")


def test_the_page_says_how_many_items_are_new(carol, tea):
    pairs = b"item,prompt,answer_a,answer_b\ni1,Why?,x,y\n"
    chosen = fields(**{"becomes-item": "id", "task": ""})
    for content, new in ((pairs, 1), (pairs + b"i2,How?,x,y\n", 1)):
        address = send(carol, content).url
        done = take(carol, address, **chosen)
        assert done.counts["new_items"] == new
    assert done.counts["items"] == 2
    words = "New items: 1. The study had the others before."
    assert words in carol.get(address).content.decode()


def test_votes_go_to_the_studys_own_task_where_they_fit_it(carol, cast, tea):
    cast.open(tea, items=1, options=2)
    name = tea.tasks.get().name
    chosen = f'<option value="open:{name}" selected>'
    votes = b"prompt,answer_a,answer_b,winner,rater\nWhy?,x,y,B,ann\n"
    assert chosen in carol.get(send(carol, votes).url).content.decode()
    assert not tea.queries.filter(text="Why?").exists()
    scores = b"prompt,answer,rater,helpful\nWhy?,x,ann,4\n"
    assert chosen not in carol.get(send(carol, scores).url).content.decode()


def test_columns_of_unclear_names_are_shown_as_the_first_recipe_that_fits_reads_them(carol):
    page = carol.get(send(carol, b"item_id,text,group\ni1,Boil water.,1\n").url).content.decode()
    words = "The recipe “Answers: prompt, answer, model” would read them so: check it."
    assert words in page
    assert "Boil water." in page
    page = carol.get(send(carol, b"a,b\n1,2\n").url).content.decode()
    assert "The columns were not recognised: say what they hold." in page


def test_one_faulty_line_stops_an_import_that_may_leave_none_out(carol, tea):
    address = send(carol).url
    row = take(carol, address, **fields())
    assert (row.status, row.error_code, row.rejected) == ("failed", "faulty_lines", 1)
    assert not tea.queries.exists()
    page = carol.get(address).content.decode()
    assert "1 line is faulty. Nothing was imported" in page
    assert take(carol, address, **fields(skip_faults="on")).status == "done"
    assert tea.queries.count() == 1


def test_a_file_above_the_limit_is_refused_before_its_first_byte(carol, tea, settings):
    settings.IMPORT_MAX_BYTES = 2**30
    body = {"name": "big.csv", "size": 2**30 + 1}
    answer = carol.post("/api/v1/studies/tea/imports/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert not DataImport.objects.exists()


def test_a_mapping_is_kept_as_a_recipe_and_applied(carol, tea):
    address = send(carol).url
    carol.post(address, fields(action="preview", recipe_name="ours"))
    assert ImportRecipe.objects.get().mapping["columns"]["label"] == ["winner"]
    page = carol.get(f"{address}?recipe=own:ours").content.decode()
    assert '<option value="own:ours" selected>ours</option>' in page
    assert "needs a column" in carol.get(f"{address}?recipe=arena").content.decode()


def test_a_cancelled_import_leaves_nothing(carol, tea, django_capture_on_commit_callbacks):
    address = send(carol).url
    stored = DataImport.objects.get().stored
    with django_capture_on_commit_callbacks(execute=True):
        carol.post(address, {"action": "cancel"})
    assert DataImport.objects.get().status == "cancelled"
    assert not run.UPLOADS.path_of(stored).exists()
    carol.post(address, fields())
    assert DataImport.objects.get().status == "cancelled"


def test_what_is_no_table_is_said_on_its_page(carol, tea):
    answer = carol.get(send(carol, b"<!doctype html><p>x", "page.html").url)
    assert "This is a web page or XML, not a table." in answer.content.decode()
    row = DataImport.objects.get()
    assert (row.status, row.error_code, row.stored) == ("failed", "file", "")
    assert carol.post("/studies/tea/data/", {}).status_code == 400


def test_html_in_a_cell_is_shown_as_text(carol, tea):
    page = carol.get(send(carol, b"prompt\n<script>x()</script>\n").url).content.decode()
    assert "&lt;script&gt;x()&lt;/script&gt;" in page


def test_a_zipped_release_is_refused_by_api_and_page_with_the_page_that_takes_it(carol, tea):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("release/manifest.json", "{}")
    page = send(carol, data.getvalue(), name="release.zip").url
    words = "“Study from a release”, on “Create a study”, takes it."
    assert words in carol.get(page).content.decode()
    address = f"/api/v1/studies/tea/imports/{DataImport.objects.get().pk}/start/"
    refused = carol.post(address, "{}", content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (409, "file_lost")
    assert words in carol.get(address.removesuffix("start/")).json()["error"]["message"]


def test_pieces_come_in_order_and_the_last_one_completes_the_file(carol, tea):
    body = {"name": "pairs.csv", "size": len(PAIRS), "fingerprint": "f"}
    kind = {"content_type": "application/json"}
    begun = carol.post("/api/v1/studies/tea/imports/", json.dumps(body), **kind)
    assert begun.status_code == 202
    again = carol.post("/api/v1/studies/tea/imports/", json.dumps(body), **kind)
    assert again.json()["upload"] == begun.json()["upload"]
    address = begun.json()["status_url"]
    octets = {"content_type": "application/octet-stream"}
    first = carol.patch(address, PAIRS[:20], headers={"Upload-Offset": "0"}, **octets)
    assert (first.status_code, first.json()["offset"]) == (200, 20)
    wrong = carol.patch(address, PAIRS[:20], headers={"Upload-Offset": "0"}, **octets)
    assert wrong.status_code == 409
    rest = carol.patch(address, PAIRS[20:], headers={"Upload-Offset": "20"}, **octets)
    assert rest.json()["status"] == "requested"
    start = f"{address}start/"
    assert carol.post(start, "{}", **kind).status_code == 202
    assert carol.post(start, "{}", **kind).status_code == 409
    row = DataImport.objects.get()
    assert run.run(row.pk).status == "failed"
    answer = carol.get(address).json()
    assert answer["error"]["code"] == "faulty_lines"
    assert answer["rejected"][0]["line"] == 3
    assert carol.post(start, '{"skip_faults": true}', **kind).status_code == 202
    run.run(row.pk)
    answer = carol.get(address).json()
    assert (answer["status"], answer["counts"]["votes"]) == ("done", 1)
    assert answer["unknown_columns"] == ["nedd"]
    assert carol.post(start, "{}", **kind).status_code == 409
    assert carol.delete(address).status_code == 404


def test_an_import_whose_worker_was_lost_is_offered_again_and_closed_in_the_end(carol, tea):
    carol.post(send(carol).url, fields(skip_faults="on"))
    row = DataImport.objects.get()
    assert run.due() == [row.pk]
    tried = {"attempts": row.attempts + 3, "lease_expires_at": "2020-01-01T00:00Z"}
    DataImport.objects.update(status="running", **tried)
    assert run.due() == []
    assert DataImport.objects.get().error_code == "worker_lost"


def test_every_choice_is_kept_when_the_mapping_is_changed(carol, tea):
    known = {"source": "Tea votes", "collected_from": "2020-01-31", "languages": "en, ko"}
    address = send(carol).url
    chosen = fields(task="", new_task="duel", **known)
    assert take(carol, address, **chosen).status == "failed"
    page = carol.post(address, {"action": "map"}).content.decode()
    assert re.search(r'name="new_task"[^>]*value="duel"|value="duel"[^>]*name="new_task"', page)
    for value in ("Tea votes", "2020-01-31", "en, ko"):
        assert f'value="{value}"' in page
    row = take(carol, address, **chosen, skip_faults="on")
    assert (row.status, row.counts["votes"]) == ("done", 1)
    assert (tea.tasks.get().name, tea.provenances.get().languages) == ("duel", ["en", "ko"])


def test_a_task_that_does_not_fit_can_be_changed_on_the_page(carol, tea):
    address = send(carol, b"prompt,answer_a,answer_b\nWhy?,x,y\n").url
    pairs = {f"becomes-{name}": name for name in ("prompt", "answer_a", "answer_b")}
    assert take(carol, address, **pairs).counts["items"] == 1
    address = send(carol, b"prompt,answer_a,answer_b,winner,rater\nWhy?,x,y,tie,ann\n").url
    chosen = fields(task="open:selection")
    assert 'name="allow"' not in carol.get(address).content.decode()
    row = take(carol, address, **chosen)
    assert (row.status, row.wider) == ("failed", ["ties"])
    page = carol.post(address, {"action": "map"}).content.decode()
    assert 'name="allow" value="ties"' in page
    assert '<option value="open:selection" selected>' in page
    row = take(carol, address, **chosen, allow="ties")
    assert (row.status, row.counts["votes"], row.rows_stored) == ("done", 1, 1)


def test_columns_whose_names_say_what_they_hold_are_asked_about_once(carol, tea):
    address = send(carol, b"prompt,answer_a,answer_b,gold\nWhy?,x,y,A\n").url
    mapping = {f"becomes-{name}": name for name in ("prompt", "answer_a", "answer_b")}
    page = carol.post(address, mapping | {"action": "import"}).content.decode()
    assert "Nothing reads these columns, whose names say what they hold: gold." in page
    assert DataImport.objects.get().status == "waiting"
    assert carol.post(address, mapping | {"action": "import", "leave": "1"}).status_code == 302


RATED = b"text,rater,safe,chosen\nTea?,ann,Yes,x\nWhy?,bo,Unsure,y\nHow?,ann,No,z\n"
READ = {
    "becomes-text": "prompt",
    "becomes-chosen": "answer",
    "becomes-rater": "worker",
    "becomes-safe": "label",
}


def test_the_page_proposes_classes_as_they_occur_and_takes_another_order(carol, tea):
    address = send(carol, RATED).url
    page = carol.post(address, READ | {"action": "preview"}).content.decode()
    assert "<span>Yes</span><span>Unsure</span><span>No</span>" in page
    again = carol.post(address, READ | {"action": "import", "classes": "No, No"})
    assert (again.status_code, "Each class is named once" in again.content.decode()) == (400, True)
    assert take(carol, address, **READ, classes="No, Unsure, Yes", level="ordinal").status == "done"
    (question,) = tea.tasks.get().config["questions"]
    assert [each["name"] for each in question["classes"]] == ["No", "Unsure", "Yes"]
    assert question["ordinal"] is True


def test_a_column_becomes_a_question_and_another_one_two_things(carol, tea):
    address = send(carol, RATED).url
    own = READ | {"becomes-safe": "answers.", "question-safe": "Is it safe"}
    assert take(carol, address, **own, also="text", also_becomes="id").status == "done"
    (question,) = tea.tasks.get().config["questions"]
    assert (question["name"], question["type"]) == ("Is it safe", "label")
    assert tea.items.filter(external_id="Tea?").exists()


def test_the_first_row_is_shown_as_its_judging_page_and_nothing_is_stored(carol, tea):
    address = send(carol, RATED).url
    page = carol.post(f"{address}preview/", READ | {"classes": "No,Unsure,Yes"}).content.decode()
    assert page.index('value="No"') < page.index('value="Unsure"') < page.index('value="Yes"')
    assert "Tea?" in page
    assert not (tea.tasks.exists() or tea.queries.exists() or tea.items.exists())
    none = carol.post(f"{address}preview/", {"becomes-text": "prompt"}).content.decode()
    assert "These rows make no new item" in none
    wrong = carol.post(f"{address}preview/", {"becomes-safe": "label"}).content.decode()
    assert "This would make no question and no item" in wrong


PAIRED = b"id,prompt,left,right\n1,Why?,x,y\n2,How?,y,x\n"
TEXTS = b"name,text\nx,A leaf.\ny,A drink.\n"


def test_a_second_file_is_joined_on_the_page_and_by_the_api(carol, tea):
    send(carol, TEXTS, "texts.csv")
    other = DataImport.objects.get()
    address = send(carol, PAIRED).url
    row = DataImport.objects.exclude(pk=other.pk).get()
    assert "texts.csv" in carol.get(address).content.decode()
    for column, key in (("left", "nobody"), ("left", "name"), ("right", "name")):
        carol.post(address, {"action": "join", "upload": other.pk, "column": column, "key": key})
        run.run(row.pk)
        page = carol.get(address).content.decode()
        assert ("each row needs a “nobody” of its own" in page) == (key == "nobody")
    row.refresh_from_db()
    assert [joined["column"] for joined in row.joins] == ["left", "right"]
    sides = {"becomes-left.text": "answer_a", "becomes-right.text": "answer_b"}
    assert take(carol, address, **{"becomes-prompt": "prompt"}, **sides).status == "done"
    texts = tea.candidates.order_by("query__text", "text").values_list("text", flat=True)
    assert list(texts) == ["A drink.", "A leaf."] * 2
    tea.items.all().delete(), tea.candidates.all().delete(), tea.queries.all().delete()
    send(carol, PAIRED)
    row = DataImport.objects.latest("created_at")
    start = f"/api/v1/studies/tea/imports/{row.pk}/start/"
    columns = {"prompt": ["prompt"], "answer": ["left.text"]}
    for joins, status in (
        ([{"upload": str(row.pk), "column": "left", "key": "name"}], 400),
        ([{"upload": str(other.pk), "column": "left", "key": "name"}], 202),
    ):
        body = {"map": columns, "joins": joins}
        assert carol.post(start, body, content_type="application/json").status_code == status
    assert run.run(row.pk).counts["candidates"] == 2


def test_questions_and_conversations_of_personamem_come_in_by_the_page(carol, tea):
    turns = [{"role": role, "content": "I like jazz."} for role in ("user", "assistant")]
    send(carol, json.dumps({"c1": turns}).encode(), "contexts.jsonl")
    other = DataImport.objects.get()
    address = send(carol, json.dumps(PERSONAMEM | {"end_index_in_shared_context": 1}).encode(),
                   "questions.jsonl").url  # fmt: skip
    row = DataImport.objects.exclude(pk=other.pk).get()
    name = "shared_context_id"
    carol.post(address, {"action": "join", "upload": other.pk, "column": name, "key": name})
    row = run.run(row.pk)
    page = carol.get(f"{address}?recipe=personamem").content.decode()
    chosen = re.findall(r'name="(becomes-[^"]+)".*?</select>', page, re.DOTALL)
    read = recipes.mapping_of("personamem", Beginning.read(row.sample).records())
    mapped = {f"becomes-{column}": target for target, of in read.columns.items() for column in of}
    assert mapped.keys() <= set(chosen)
    assert take(carol, address, **mapped, recipe="personamem", task="later").status == "done"
    messages = [(turn["role"], turn["content"]) for turn in tea.queries.get().messages]
    assert messages == [("user", "I like jazz."), ("user", "What shall I listen to?")]
    assert tea.candidates.count() == 2


def test_further_judgments_of_one_person_are_kept_as_repeats_on_the_page(carol, tea):
    address = send(carol, PAIRS.replace(b"How?,x,y,Z,bo", b"Why?,x,,A,ann")).url
    assert 'name="repeats"' in carol.get(address).content.decode()
    row = take(carol, address, **fields(repeats="on"))
    assert (row.status, row.counts["votes"], row.counts["items"]) == ("done", 2, 1)
    assert tea.items.get(batch__purpose="repeat").repeats == tea.items.work().get()


def test_the_page_takes_one_turn_of_a_tree(carol, tea):
    message = {"text": "B.", "role": "assistant"}
    for text, role in (("And?", "prompter"), ("A.", "assistant"), ("Why?", "prompter")):
        message = {"text": text, "role": role, "replies": [message]}
    address = send(carol, json.dumps({"prompt": message}).encode(), "tree.jsonl").url
    assert 'name="depth"' in carol.get(address).content.decode()
    body = {"becomes-messages": "prompt", "becomes-answers[].text": "answer", "depth": "2"}
    page = carol.post(address, body | {"action": "preview"}).content.decode()
    assert ("B." in page, "Line 1" in page, page.count('class="preview"')) == (True, True, 1)
    assert take(carol, address, **body).status == "done"
    assert tea.candidates.get().text == "B."


def test_another_scale_or_what_was_not_known_of_a_question_is_said_on_the_page(carol, tea):
    chosen = {"becomes-id": "id", "becomes-tone": "score", "becomes-answer": "answer"}
    for scores, words in (
        ("a,ann,4", "<dt>Judgments</dt><dd>1</dd>"),
        (
            "b,ann,0\nHow?,c,ann,5",
            "Scores of 0–5 on “tone” do not fit the task “feedback” of 1–5: name a task",
        ),
    ):
        content = f"prompt,answer,rater,tone\nWhy?,{scores}\n".encode()
        address = send(carol, content).url
        take(carol, address, **fields(**chosen, task="", new_task=""))
        assert words in carol.get(address).content.decode()
    address = send(carol, b"prompt,lang\nWhy?,en\n").url
    take(carol, address, **fields(**{"becomes-lang": "language"}))
    assert "1 question of the study had no language" in carol.get(address).content.decode()


WESTERN = "prompt,réponse\nZoë – 5 €?,Où\n".encode("cp1252")


def test_the_page_names_the_way_out_of_another_encoding_and_reads_the_file_so(carol, tea):
    address = send(carol, WESTERN).url
    page = carol.get(address).content.decode()
    assert "the bytes are not UTF-8 text: choose the file" in page and "Windows-1252" in page
    row = DataImport.objects.get()
    for encoding, words in (("cp949", "The file is not text in EUC-KR, CP949"), ("cp1252", "Où")):
        carol.post(address, {"action": "encode", "encoding": encoding})
        run.run(row.pk)
        assert words in carol.get(address).content.decode()
    body = {"becomes-prompt": "prompt", "becomes-réponse": "answer"}
    assert take(carol, address, **body).status == "done"
    assert (tea.queries.get().text, tea.candidates.get().text) == ("Zoë – 5 €?", "Où")


def test_bytes_that_are_no_text_in_a_cell_are_a_fault_on_the_page_and_of_the_import(carol, tea):
    content = "prompt,answer,rater,tone\nWhy?,a,ann,très\n80 °C?,b,ann,4\n".encode("cp1252")
    address = send(carol, content).url
    page = carol.get(address).content.decode()
    assert "tr\ufffds" in page and "holds bytes that are no text in UTF-8" in page
    chosen = {"becomes-answer": "answer", "becomes-tone": "score"}
    row = take(carol, address, **fields(**chosen))
    assert (row.status, row.rejected) == ("failed", 2)
    assert list(row.faults.values_list("line", "reason")) == [
        (2, "the score “tr\ufffds” of “tone” is no number"),
        (3, "“prompt” holds bytes that are no text in UTF-8: choose the file's encoding"),
    ]


def test_a_program_and_the_command_name_the_encoding(carol, tea, tmp_path, capsys):
    send(carol, WESTERN)
    row = DataImport.objects.get()
    start = f"/api/v1/studies/tea/imports/{row.pk}/start/"
    body = {"map": {"prompt": ["prompt"], "answer": ["réponse"]}, "encoding": "cp1252"}
    assert carol.post(start, body, content_type="application/json").status_code == 202
    assert run.run(row.pk).status == "done"
    (tmp_path / "mine.csv").write_bytes(WESTERN)
    command = ["import_data", str(tmp_path / "mine.csv"), "--study", "tea", "--json"]
    maps = ["--map", "prompt=prompt", "answer=réponse"]
    call_command(*command, *maps, "--encoding", "cp1252")
    assert json.loads(capsys.readouterr().out)["candidates"] == 1
    assert (tea.queries.get().text, tea.candidates.count()) == ("Zoë – 5 €?", 1)
    with pytest.raises(CommandError, match="choose the file's encoding"):
        call_command(*command)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not on this machine")
@pytest.mark.parametrize("way", ["command", "page"])
def test_unchanged_files_give_their_published_figures_by_command_and_by_page(carol, tea, way):
    for name, recipe in (("items", "answers"), ("judgments", "ratings")):
        path = DATA / "recipe-likert" / f"{name}.jsonl"
        if way == "command":
            call_command("import_data", str(path), "--study", "tea", "--recipe", recipe)
            continue
        address = send(carol, path.read_bytes(), path.name).url
        shown = carol.get(address, {"recipe": recipe}).context["form"]
        sent = {field.html_name: field.value() for field in shown if field.value()}
        assert take(carol, address, **sent).status == "done"
    recompute.recompute(tea, tea.tasks.get().name)
    found = {
        part[0]: round(part[1]["krippendorff_alpha"]["ordinal"]["value"], 6)
        for part in AgreementResult.objects.get(study=tea).parts
    }
    assert found == {
        "grammar": 0.415127, "fluency": 0.432398, "verbosity": 0.399142, "structure": 0.398558,
        "success": 0.362716, "overall": 0.435101,
    }  # fmt: skip


SQUALITY = DATA / "squality-eval"


REVIEWS = pytest.mark.skipif(not SQUALITY.exists(), reason="the reviews are not on this machine")


def import_reviews(carol, column: str, target: str) -> None:
    """Import SQuALITY's reviews, joined to their items, into "tea" by page, "again" by command."""
    items, reviews = SQUALITY / "items.jsonl", SQUALITY / "judgments.jsonl"
    send(carol, items.read_bytes(), items.name)
    other = DataImport.objects.get()
    address = send(carol, reviews.read_bytes(), reviews.name).url
    row = DataImport.objects.exclude(pk=other.pk).get()
    key = {"column": "item_id", "key": "item_id"}
    carol.post(address, {"action": "join", "upload": other.pk, **key})
    run.run(row.pk)
    mapped = {
        "item_id": "id",
        "annotator": "worker",
        column: target,
        "item_id.question": "prompt",
        "item_id.candidates[].text": "answer",
        "item_id.candidates[].system": "model",
    }
    sent = {f"becomes-{name}": target for name, target in mapped.items()}
    page = carol.get(address).content.decode()
    assert all(f'name="{name}"' in page for name in sent)
    assert take(carol, address, **sent).status == "done"
    maps = [f"--map={target}={name}" for name, target in mapped.items()]
    join = f"--join={items}:item_id=item_id"
    call_command("import_data", str(reviews), join, *maps, "--study", "again")


@REVIEWS
def test_reviews_of_answers_in_a_second_file_say_the_same_by_page_and_by_command(carol, tea):
    """All 150 reviews rank the human answer first, as the set's README has it."""
    import_reviews(carol, "choice", "label")
    names = ("judgment__slot__study__slug", "judgment__slot__item__external_id", "label")
    said = Counter(Answer.objects.values_list(*names))
    items = {item for _study, item, _label in said}
    counts = {(slug, item): n for (slug, item, label), n in said.items() if label == "3"}
    assert said.total() == sum(counts.values()) == 2 * 150
    assert all(counts["tea", item] == counts["again", item] for item in items)


@REVIEWS
def test_scores_of_0_to_100_have_the_published_alpha_by_page_and_by_command(carol, tea):
    import_reviews(carol, "ratings", "score")
    for slug in ("tea", "again"):
        study = Study.objects.get(slug=slug)
        (task,) = study.tasks.all()
        recompute.recompute(study, task.name)
        parts = {part[0]: part[1] for part in AgreementResult.objects.get(study=study).parts}
        alpha = parts["overall"]["krippendorff_alpha"]["interval"]["value"]
        assert (task.kind, round(alpha, 6)) == ("questions", 0.833734)
