"""Fields that nobody may set are sent along with every form and body."""

import pytest
from django.urls import reverse

from annotation.accounts.models import ApiToken, Consent, User
from annotation.judging.models import Judgment, Slot
from annotation.studies.models import Invitation, Membership, Study, TaskDefinition
from tests.security.table import TABLE
from tests.security.test_routes import NAMES, NAMES_RAIN

EXTRA = {
    "is_superuser": "1",
    "is_staff": "1",
    "is_active": "1",
    "user": "1",
    "owner": "1",
    "created_by": "1",
    "accepted_by": "1",
    "annotator": "1",
    "study": "2",
    "study_id": "2",
    "slug": "rain",
    "pk": "1",
    "id": "1",
    "version": "77",
    "kind": "feedback",
    "status": "done",
    "released": "1",
    "created_at": "2001-01-01",
    "submitted_at": "2001-01-01T00:00:00Z",
    "lease_expires_at": "2099-01-01T00:00:00Z",
    "expires_at": "2099-01-01T00:00:00Z",
    "label": "tie",
    "shown": "[3,2,1]",
    "imported": "1",
    "strategy": "A1",
    "model": "mine",
    "tier": "easy",
    "consented": "1",
    "digest": "x",
    "salt": "x",
    "public_id": "x",
}
FORMS = [name for name in NAMES if "POST" in TABLE[name].methods and not TABLE[name].api]


def send(world, name, role, **more):
    row = TABLE[name]
    data = {**EXTRA, **row.data(world), **more}
    return world.browser(role).post(reverse(name, kwargs=row.args(world)), data)


def _rows(queryset) -> list[dict]:
    # A row that was written anew would change places without an order.
    return list(queryset.order_by("pk").values())


def sentinel() -> dict:
    """What none of the forms below may touch."""
    return {
        "superusers": set(User.objects.filter(is_superuser=True).values_list("email", flat=True)),
        "active": User.objects.filter(is_active=True).count(),
        "rain": _rows(Study.objects.filter(slug="rain")),
        "rain's people": _rows(Membership.objects.filter(study__slug="rain")),
        "rain's slots": _rows(Slot.objects.filter(study__slug="rain")),
        "rain's tasks": _rows(TaskDefinition.objects.filter(study__slug="rain")),
        "others' tokens": _rows(ApiToken.objects.exclude(user__name="Ann")),
        "others' consents": _rows(Consent.objects.exclude(user__name="Finn")),
    }


@pytest.mark.parametrize("name", FORMS)
def test_a_form_sets_its_own_fields_only(world, name):
    row = TABLE[name]
    roles = ("ann", "administrator", "site", "fresh")
    role = next((role for role in roles if row.expected("POST", role) < 400), "ann")
    # These two change one's own consent.
    role = "fresh" if name in ("consent", "leave") else role
    if name == "tokens":
        role = "ann"
    before = sentinel()
    assert send(world, name, role).status_code < 500
    assert sentinel() == before


RECENTLY = "allauth.account.internal.flows.reauthentication.did_recently_reauthenticate"


def test_a_token_is_ones_own_and_ends_when_it_said(world, monkeypatch):
    # As right after the password was given: tests/accounts asks for it.
    monkeypatch.setattr(RECENTLY, lambda request: True)
    # The form has a study of its own, of those that one is in.
    send(world, "tokens", "ann", study="", days="9", scopes="read")
    token = ApiToken.objects.latest("pk")
    assert (token.user, token.revoked_at) == (world.users["ann"], None)
    assert round((token.expires_at - token.created_at).total_seconds() / 86_400) == 9
    assert token.created_at.year > 2001


def test_a_study_is_born_a_draft_with_its_maker_as_administrator(world):
    send(world, "study-new", "curator")
    study = Study.objects.get(title="New")
    assert (study.slug, study.status) == ("new-one", "draft")
    assert list(study.memberships.values_list("user__name", "role")) == [("Carol", "administrator")]


def test_a_change_of_settings_leaves_address_and_state(world):
    send(world, "settings", "administrator")
    study = Study.objects.get(pk=world.tea.pk)
    assert (study.slug, study.status, study.title) == ("tea", "open", "Other")


def test_an_invitation_is_for_the_study_of_its_page(world):
    send(world, "people", "administrator")
    invitation = Invitation.objects.latest("pk")
    assert (invitation.study, invitation.created_by) == (world.tea, world.users["administrator"])
    assert (invitation.accepted_by, invitation.expires_at.year < 2090) == (None, True)


def test_a_task_gets_its_next_version_and_kind_from_us(world):
    send(world, "tasks", "curator")
    task = TaskDefinition.objects.latest("pk")
    assert (task.study, task.version, task.kind) == (world.tea, 1, "selection")


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_judgment_is_of_the_one_who_sent_it_now_and_as_it_was_shown(world, door):
    row = TABLE["judge" if door == "page" else "api-judgment"]
    data = {**EXTRA, **row.data(world)}
    if door == "page":
        response = send(world, "judge", "ann")
    else:
        body = {**data, "shown": [3, 2, 1], "annotator": world.users["curator"].pk}
        address = reverse("api-judgment", kwargs=row.args(world))
        response = world.program("ann").post(
            address, body, "application/json", headers={"Idempotency-Key": "k"}
        )
    assert response.status_code in (201, 302)
    stored = Judgment.objects.latest("pk")
    assert (stored.annotator, stored.slot) == (world.users["ann"], world.mine.slot)
    assert stored.answers.get().label in ("1", "2", "3")
    assert (stored.imported, stored.submitted_at.year > 2001) == (False, True)
    assert sorted(stored.shown) == [1, 2, 3]
    assert stored.digest != "x"


def test_a_choice_of_another_items_answer_is_refused(world):
    foreign = world.other.slot.item.options.first().candidate_id
    others = world.tea.items.exclude(query=world.mine.slot.item.query)
    other = others.first().options.first().candidate_id
    before = Judgment.objects.count()
    for choice in (foreign, other):
        page = send(world, "judge", "ann", choice=str(choice))
        route = world.program("ann").post(
            reverse("api-judgment", args=[world.mine.slot.pk]),
            {"choice": str(choice)},
            "application/json",
            headers={"Idempotency-Key": "k"},
        )
        assert (page.status_code, route.status_code) == (400, 400)
    assert Judgment.objects.count() == before


@pytest.mark.parametrize("whose", ["bo_slot", "other"])
@pytest.mark.parametrize("name", ["judge", "skip"])
def test_a_slot_of_somebody_else_in_a_form_is_unknown(world, name, whose):
    slot = world.bo_slot if whose == "bo_slot" else world.other.slot
    before = list(Slot.objects.order_by("pk").values())
    response = send(world, name, "ann", slot=str(slot.pk))
    assert response.status_code == 404
    assert list(Slot.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("name", ["query-add", "query"])
def test_a_query_cannot_be_given_a_persona_of_another_study(world, name):
    response = send(world, name, "curator", persona=world.other.persona.pk)
    assert response.status_code == 400
    assert not world.tea.queries.filter(persona=world.other.persona).exists()
    assert not NAMES_RAIN.search(response.content.decode())


def test_a_signup_makes_no_administrator(client, world):
    client.get(reverse("invitation", args=[world.mine.key]))
    data = {"email": "new@example.org", "password1": "a long enough secret", **EXTRA}
    client.post(reverse("account_signup"), data)
    new = User.objects.get(email="new@example.org")
    assert (new.is_superuser, new.memberships.count(), new.worker) == (False, 0, None)
