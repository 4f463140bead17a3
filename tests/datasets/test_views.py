import html
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.urls import reverse

from annotation.accounts.models import ApiToken
from annotation.core.models import AuditEvent, Heartbeat
from annotation.datasets import folders, freeze, layouts
from annotation.datasets.models import Release
from annotation.judging.models import Item
from tests.datasets.conftest import build, card

URL = "/studies/tea/releases/"


def test_a_researcher_asks_for_a_release_and_downloads_it(cast, tea, panel, _data, login):
    panel(*["111111112"] * 2)
    browser = login(cast.person("Rui"))
    answer = browser.post(URL, {"layout": "personafeedback", "format": "", "licence": "CC-BY-4.0"})
    assert (answer.status_code, answer["Location"]) == (302, URL)
    release = Release.objects.get()
    assert (release.status, release.created_by.name) == ("requested", "Rui")
    assert AuditEvent.objects.get(action="release.request").actor == release.created_by_id
    download = reverse("release_download", args=["tea", 1])
    assert download not in browser.get(URL).content.decode()
    assert browser.get(download).status_code == 404

    freeze.build(release.pk)
    assert download in browser.get(URL).content.decode()
    packed = b"".join(browser.get(download).streaming_content)
    assert packed == folders.zip_of(release).read_bytes()
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert b"Licence: CC-BY-4.0" in files.read("tea-v1/README.md")


@pytest.mark.parametrize(
    ("kinds", "layout"),
    [
        ({"feedback", "selection"}, "bespoke"),
        ({"selection", "preference"}, "personafeedback"),
        ({"relevance"}, "personalbench"),
        ({"ranking"}, "long"),
        (set(), "long"),
    ],
)
def test_the_layout_of_the_paper_that_collects_these_kinds_is_proposed(kinds, layout):
    assert layouts.suited(kinds) == layout


def test_the_form_proposes_the_layout_that_suits_the_study(cast, tea, items, login):
    items(1)
    page = login(cast.person("Rui")).get(URL).content.decode()
    assert '<option value="personafeedback" selected>' in page


def test_a_study_of_ratings_about_nobody_meets_nothing_of_a_paper(cast, tea, _data, login):
    answers = [{"item_id": f"i{n}", "text": f"Mint {n}."} for n in range(3)]
    ratings = [
        {"item_id": f"i{n}", "annotator": worker, "ratings": {"tone": 2 * n + 1}}
        for n in range(3)
        for worker in "ab"
    ]
    for recipe, rows in (("answers", answers), ("ratings", ratings)):
        file = Path(str(_data)) / f"{recipe}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        call_command("import_data", str(file), "--study", "tea", "--recipe", recipe)
    browser = login(cast.person("Rui"))
    assert '<option value="long" selected>' in browser.get(URL).content.decode()
    browser.post(URL, {"layout": "long", "format": "", "licence": ""})
    release = Release.objects.get()
    freeze.build(release.pk)
    release.refresh_from_db()
    assert set(release.manifest["rules"]) == {"tasks", "submitted_at", "csv"}
    assert {"pairs", "left_out"}.isdisjoint(release.manifest["counts"])
    text = card(release)
    assert "Of all votes, with 95 % intervals" in text
    assert not any(word in text for word in ("Tiers", "tier rule", "Easy", "pairs", "no pair"))
    page = html.unescape(browser.get(URL).content.decode())
    assert "Krippendorff's alpha, ordinal" in page and "Easy" not in page


def test_the_list_asks_for_itself_only_while_a_release_is_written(cast, tea, items, _data, login):
    items(1)
    browser = login(cast.person("Rui"))
    build(tea)
    assert "hx-trigger" not in browser.get(URL).content.decode()
    waiting = freeze.request_release(tea, "long", "", None)
    assert 'hx-trigger="every 2s"' in browser.get(URL).content.decode()
    part = browser.get(URL, headers={"HX-Request": "true"})
    assert part.content.decode().strip().startswith('<section id="releases"')
    assert "HX-Request" in part["Vary"]
    freeze.build(waiting.pk)
    part = browser.get(URL, headers={"HX-Request": "true"}).content.decode()
    assert "hx-trigger" not in part


def test_releases_stand_above_the_form_unless_there_is_none_or_the_form_was_refused(
    cast, tea, login
):
    browser = login(cast.person("Carol"))

    def list_is_first(answer):
        page = answer.content.decode()
        return page.index('id="releases"') < page.index('name="layout"')

    assert list_is_first(browser.get(URL)) is False
    freeze.request_release(tea, "long", "", None)
    assert list_is_first(browser.get(URL)) is True
    assert list_is_first(browser.post(URL, {"layout": "none"})) is False


def test_the_page_says_when_no_worker_is_running(cast, tea, login):
    freeze.request_release(tea, "long", "", None)
    browser = login(cast.person("Rui"))
    assert "No worker is running" in browser.get(URL).content.decode()
    Heartbeat.objects.create(name="worker", at=Now())
    assert "No worker is running" not in browser.get(URL).content.decode()


def test_a_failure_is_shown_in_words_and_harmless(cast, tea, login):
    freeze.request_release(tea, "long", "", None)
    Release.objects.update(status="failed", error="<b>The disk</b> is full.")
    page = login(cast.person("Rui")).get(URL).content.decode()
    assert "&lt;b&gt;The disk&lt;/b&gt; is full." in page


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"layout": "dpo", "format": "csv"}, "is written as jsonl"),
        ({"layout": "nothing"}, "Select a valid choice"),
        ({"layout": "long", "licence": "x" * 101}, "at most 100"),
        ({"layout": "long", "licence": "a\x00b"}, "Null characters are not allowed"),
    ],
)
def test_a_wrong_form_is_refused_with_a_sentence(cast, tea, login, data, sentence):
    answer = login(cast.person("Rui")).post(URL, data)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert Release.objects.count() == 0


def test_the_rule_proposed_for_pairs_does_not_refuse_a_layout_without_pairs(
    cast, tea, items, login, _data
):
    (item,) = items(1)
    Item.objects.filter(pk=item.pk).update(overlap=3)
    browser = login(cast.person("Carol"))
    form = browser.get(URL).context["form"]
    assert (form["rule"].value(), form["min_votes"].value()) == ("majority", 2)
    sent = {name: form[name].value() or "" for name in form.fields} | {"layout": "long"}
    assert browser.post(URL, sent).status_code == 302
    # What somebody chooses is taken at its word.
    refused = browser.post(URL, sent | {"min_votes": 3})
    assert "has no pairs that a rule could make" in refused.content.decode()


def test_the_page_takes_the_same_queries_for_many_releases(
    cast, tea, items, login, django_assert_num_queries, _data
):
    items(1)
    browser = login(cast.person("Rui"))
    build(tea)
    browser.get(URL)
    for _ in range(3):
        with django_assert_num_queries(7):
            browser.get(URL)
        build(tea)


API = "/api/v1/studies/tea/releases/"


@pytest.fixture
def api(cast, client):
    """The client with Rui's key."""
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {ApiToken.issue(cast.person('Rui'))[1]}"
    return client


def test_a_release_is_asked_for_watched_and_fetched_by_api(cast, tea, panel, _data, api):
    panel("1" * 9)
    asked = api.post(API, {"layout": "dpo"}, content_type="application/json")
    assert asked.status_code == 202
    body = asked.json()
    assert (body["status"], body["download_url"]) == ("requested", None)
    url = f"/api/v1/releases/{body['id']}/"
    assert asked["Location"].endswith(url) and body["url"].endswith(url)
    early = api.get(f"{url}download/")
    assert (early.status_code, early["Content-Type"]) == (409, "application/problem+json")
    release = Release.objects.get()
    freeze.build(release.pk)
    done = api.get(url).json()
    release.refresh_from_db()
    assert (done["status"], done["manifest"]) == ("done", release.manifest)
    packed = b"".join(api.get(f"{url}download/").streaming_content)
    assert packed == folders.zip_of(release).read_bytes()


@pytest.mark.parametrize(
    "data",
    [{"layout": "x"}, {"format": "csv"}, {"layout": "dpo", "format": "csv"},
     {"layout": ["long"]}, {"layout": "long", "licence": {"a": 1}},
     {"layout": "personafeedback", "hard_fill": "9" * 41},
     {"layout": "personafeedback", "hard_fill": "1/0"},
     {"layout": "personafeedback", "easy_share": "3/2"}],
)  # fmt: skip
def test_a_wrong_body_is_a_problem(cast, tea, api, data):
    answer = api.post(API, data, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert Release.objects.count() == 0


def test_shares_are_exact_numbers_and_what_a_caller_may_not_set_is_ignored(cast, tea, api):
    data = {"layout": "personafeedback", "hard_fill": "1/3", "easy_share": "0.6"}
    data |= {"status": "done", "version": 9, "salt": "00", "study": "rain"}
    assert api.post(API, data, content_type="application/json").status_code == 202
    release = Release.objects.get()
    choices = release.frozen["choices"]
    assert (choices["hard_fill"], choices["easy_share"]) == ("1/3", "3/5")
    assert (release.status, release.version, release.study) == ("requested", 1, tea)
    assert len(release.salt) == 64


def test_a_release_that_nobody_fetched_is_deleted_with_its_files(
    cast, tea, items, _data, login, django_capture_on_commit_callbacks
):
    items(1)
    release = build(tea)
    files = folders.folder_of(release), folders.zip_of(release)
    assert all(path.exists() for path in files)
    browser = login(cast.person("Carol"))
    address = f"{URL}{release.version}/delete/"
    assert address in browser.get(URL).content.decode()
    assert "Nobody has fetched it" in browser.get(address).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        assert browser.post(address).status_code == 302
    assert not tea.releases.exists()
    assert not any(path.exists() for path in files)
    noted = AuditEvent.objects.get(action="release.delete")
    assert (noted.details["version"], noted.details["counts"]["items"]) == (1, 1)


def test_a_fetched_release_stays_with_a_sentence(cast, tea, items, _data, login):
    items(1)
    build(tea)
    browser = login(cast.person("Carol"))
    assert browser.get(f"{URL}1/download/").status_code == 200
    page = browser.post(f"{URL}1/delete/", follow=True).content.decode()
    assert "Release 1 was fetched and stays" in page
    assert f"{URL}1/delete/" not in page
    assert tea.releases.count() == 1


def test_groups_of_fields_name_the_layouts_that_use_them(carol, tea):
    page = carol.get(reverse("releases", args=["tea"])).content.decode()
    pairs, tiers, shots = re.findall(
        r'<fieldset class="group"\s+data-used-by="layout" data-values="([^"]*)"', page
    )
    formats = re.findall(r'<span data-used-by="layout" data-values="(dpo)">“dpo”: ([^<]*)<', page)
    assert formats == [("dpo", "JSON Lines, Parquet.")]
    assert pairs == tiers
    assert "long" not in pairs.split()
    assert "long" not in shots.split()
