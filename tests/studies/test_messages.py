"""Messages between curators and annotators: who sees what, and what counts as read."""

import re

import pytest
from django.utils import timezone

from annotation.core.errors import DomainError, NotFound
from annotation.studies import messages
from annotation.studies.models import Message, Study

PAGE = "/studies/tea/messages/"


def of(name, cast, slug="tea"):
    """The person and the study as a view gives it to them."""
    person = cast.person(name)
    return person, Study.objects.with_membership(person).get(slug=slug)


def bodies(name, cast, which=messages.visible):
    return [message.body for message in which(*of(name, cast))]


@pytest.fixture
def written(cast, tea):
    """One message of each way."""
    carol, study = of("Carol", cast)
    messages.send_message(study, carol, "to all")
    messages.send_message(study, carol, "to Ann", cast.person("Ann"))
    ann, annotated = of("Ann", cast)
    messages.send_message(annotated, ann, "from Ann")
    return study


def test_everybody_sees_their_own_part_and_no_more(cast, written):
    assert bodies("Ann", cast) == ["from Ann", "to Ann", "to all"]
    assert bodies("Bo", cast) == ["to all"]
    assert bodies("Carol", cast) == ["from Ann", "to Ann", "to all"]


def test_unread_is_what_came_and_was_not_marked(cast, written):
    assert bodies("Ann", cast, messages.unread) == ["to Ann", "to all"]
    assert bodies("Bo", cast, messages.unread) == ["to all"]
    assert bodies("Carol", cast, messages.unread) == ["from Ann"]
    ann, study = of("Ann", cast)
    for _ in range(2):
        messages.mark_read(ann, study, Message.objects.get(body="to all").pk)
    assert bodies("Ann", cast, messages.unread) == ["to Ann"]
    assert bodies("Bo", cast, messages.unread) == ["to all"]


def test_marking_reads_nothing_that_came_meanwhile_or_belongs_to_others(cast, written):
    bo, study = of("Bo", cast)
    messages.mark_read(bo, study, 2**60)
    assert list(Message.objects.filter(reads__user=bo).values_list("body", flat=True)) == ["to all"]


def test_an_annotator_writes_to_the_curators_only_whatever_is_asked(login, cast, tea):
    client = login(cast.person("Ann"))
    sent = {"body": "A question.", "recipient": cast.person("Bo").pk, "audience": "annotators"}
    assert client.post(PAGE, sent).status_code == 302
    message = Message.objects.get()
    assert (message.audience, message.recipient, message.study) == ("curators", None, tea)
    assert bodies("Bo", cast) == []


def test_a_curator_writes_to_all_or_to_one_annotator_of_this_study(cast, tea, carol):
    carol.post(PAGE, {"body": "Hello all."})
    carol.post(PAGE, {"body": "Hello Ann.", "recipient": cast.person("Ann").pk})
    found = Message.objects.order_by("pk").values_list("audience", "recipient__name")
    assert list(found) == [("annotators", None), ("person", "Ann")]
    cast.member("Zoe", cast.study("rain"), "annotator")
    for wrong in (cast.person("Zoe").pk, cast.person("Rui").pk, "x", "0"):
        assert carol.post(PAGE, {"body": "Psst.", "recipient": wrong}).status_code == 400
    assert Message.objects.count() == 2
    sender, study = of("Carol", cast)
    with pytest.raises(NotFound):
        messages.send_message(study, sender, "Psst.", cast.person("Zoe"))


def test_annotators_learn_no_name_of_a_curator_or_of_each_other(login, cast, written):
    _, study = of("Bo", cast)
    messages.send_message(study, cast.person("Bo"), "from Bo")
    page = login(cast.person("Ann")).get(PAGE).text
    assert all(word in page for word in ("to all", "to Ann", "from Ann"))
    # Whole words: a form's token may hold "Bo" by chance.
    assert re.findall(r"\b(?:Carol|carol@|Bo|bo@)\b", page) == []
    page = login(cast.person("Carol")).get(PAGE).text
    assert "From Bo to the curators" in page


def test_rights_end_with_the_membership(login, cast, written):
    client = login(cast.person("Ann"))
    written.memberships.filter(user=cast.person("Ann")).update(left_at=timezone.now())
    assert client.get(PAGE).status_code == 404


@pytest.mark.parametrize("body", ["", "  \n", "x" * 10_001])
def test_an_empty_or_endless_message_is_refused_and_kept_on_the_page(login, cast, tea, body):
    response = login(cast.person("Ann")).post(PAGE, {"body": body})
    assert (response.status_code, Message.objects.count()) == (400, 0)
    with pytest.raises(DomainError):
        messages.send_message(of("Ann", cast)[1], cast.person("Ann"), body)


@pytest.mark.parametrize("up_to", ["", "x", "-1", "1e9", "9" * 40, "²"])
def test_an_odd_mark_is_passed_over(login, cast, written, up_to):
    client = login(cast.person("Ann"))
    assert client.post(f"{PAGE}read/", {"up_to": up_to}).status_code == 302
    assert bodies("Ann", cast, messages.unread) == ["to Ann", "to all"]
