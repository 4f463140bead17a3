"""Items go to people who read their language, where the study says so."""

import pytest
from django.urls import reverse

from annotation.accounts.models import User
from annotation.judging.annotator import overview
from annotation.judging.models import Slot
from annotation.judging.work import queue
from annotation.queries.models import Query
from annotation.studies.models import Study

LANGUAGES = ["en", "ko-KR", "zh-Hans", ""]


@pytest.fixture
def asked(cast, tea):
    """Four items, one a language and one of none, in a study that looks at languages."""
    batch = cast.open(tea, items=4)
    for query, language in zip(Query.objects.order_by("pk"), LANGUAGES, strict=True):
        Query.objects.filter(pk=query.pk).update(language=language)
    Study.objects.update(match_languages=True)
    return batch


def handed_out(study, person) -> set[str]:
    """The languages of all items that the person is handed, one after the other."""
    languages = set()
    while slot := queue.claim(study, person):
        languages.add(Slot.objects.get(pk=slot).item.query.language)
        queue.hand_back(slot, person, "skipped")
    return languages


@pytest.mark.parametrize(
    ("reads", "languages"),
    [
        (["ko"], {"ko-KR", ""}),
        (["zh", "en"], {"zh-Hans", "en", ""}),
        (["fr"], {""}),
        ([], set(LANGUAGES)),
        (None, set(LANGUAGES)),
    ],
)
def test_people_get_the_items_that_they_read(cast, tea, asked, reads, languages):
    ann = cast.person("Ann")
    ann.reads = reads
    ann.save()
    study = Study.objects.with_standing(ann).get(pk=tea.pk)
    assert overview.places(ann, [study])[tea.pk].waiting == len(languages)
    assert handed_out(tea, ann) == languages


def test_a_study_that_does_not_look_at_languages_hands_out_all(cast, tea, asked):
    Study.objects.update(match_languages=False)
    ann = cast.person("Ann")
    User.objects.filter(pk=ann.pk).update(reads=["ko"])
    assert handed_out(tea, ann) == set(LANGUAGES)


def test_an_item_kept_for_its_owner_comes_whatever_they_read(cast, tea, asked):
    ann = cast.person("Ann")
    User.objects.filter(pk=ann.pk).update(reads=["fr"])
    Slot.objects.filter(ordinal=0).update(reserved_for=ann)
    assert handed_out(tea, ann) == set(LANGUAGES)


def test_the_languages_are_asked_once_before_the_first_item(cast, tea, asked, login):
    ann = login(cast.person("Ann"))
    judge = reverse("judge", args=["tea"])
    assert ann.get(judge).url == f"/reading/?next={judge}"
    assert ann.post("/reading/", {"next": judge}).url == judge
    assert User.objects.get(name="Ann").reads == []
    assert ann.get(judge).status_code == 200
    # Another site's address is no way back.
    far = ann.post("/reading/", {"next": "https://example.org/", "reads": ["ko"]})
    assert (far.url, User.objects.get(name="Ann").reads) == ("/reading/", ["ko"])
    assert ann.post("/reading/", {"reads": ["xx"]}).status_code == 400


def test_who_reads_a_further_language_later_gets_the_items_passed_by(cast, tea, asked):
    ann = cast.person("Ann")
    ann.reads = ["ko"]
    ann.save()
    assert handed_out(tea, ann) == {"ko-KR", ""}
    ann.reads = ["ko", "en"]
    ann.save()
    assert handed_out(tea, ann) == {"en"}
