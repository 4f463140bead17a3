"""The page of a conversation with hidden systems, and the one on which curators set it up."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import endpoints
from annotation.core import refusals
from annotation.core.errors import DomainError, NotFound, uuid_or_not_found
from annotation.core.pages import show, whole_or_part
from annotation.core.schema import fields_of, form_of
from annotation.core.words import titled
from annotation.live import settings, talks
from annotation.live.settings import Live
from annotation.questions.base import whole_number
from annotation.studies.access import study_page
from annotation.studies.models import Study


class LiveForm(form_of(Live)):  # type: ignore[misc]
    """The settings, with what the study has as choices."""

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        defaults = {name: field.default for name, field in fields_of(Live).items()}
        super().__init__(*args, initial=defaults | study.live, **kwargs)
        tasks = [(name, titled(name)) for name in settings.tasks_of(study)]
        self.offer("tasks", tasks)
        self.offer("each_turn", [("", _("none: each system has its own conversation")), *tasks])
        self.offer("endpoints", endpoints.choices())
        self.offer("strategies", settings.usable_strategies().items())


@study_page(policies.judgment.may_give, "GET", "POST")
def talk(request: UserRequest, study: Study) -> HttpResponse:
    """The person's conversation; htmx asks for it again while answers come. POST is an act."""
    if not study.consented:
        return redirect("consent", study.slug)
    if request.method != "POST":
        return _page(request, study)
    try:
        opened = _act(request, study)
    except DomainError as refusal:
        return _page(request, study, refusal)
    if request.POST.get("act") == "draft":
        return HttpResponse(status=204)
    page = "judge" if opened else "talk"
    if opened or not request.htmx:
        url = redirect(page, study.slug).url
        return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)
    return _page(request, study)


def _act(request: UserRequest, study: Study) -> int:
    """Do what the page's button says; how many items wait for the person's judgment by then."""
    data, person = request.POST, request.user
    act, turn = data.get("act"), whole_number(data.get("turn"), 0, 100) or 0
    if act == "begin":
        talks.begin(study, person)
        return 0
    pk: UUID = uuid_or_not_found(data.get("talk"), _("This conversation is over."))
    # Whoever left the study of theirs acts in it through no other study's page.
    if not study.talks.filter(pk=pk).exists():
        raise NotFound(_("This conversation is over."))
    if act == "say":
        talks.say(pk, person, data.get("text", ""), turn)
    elif act == "draft":
        talks.keep_draft(pk, person, data.get("text", ""), turn)
    elif act == "choose":
        talks.choose(pk, person, whole_number(data.get("place"), 0, 9) or 0, turn)
    elif act == "without":
        talks.go_without(pk, person)
    elif act == "again":
        talks.ask_again(pk, person)
    elif act == "end":
        return talks.end(pk, person)
    return 0


def _page(request: UserRequest, study: Study, refusal: DomainError | None = None) -> HttpResponse:
    current = talks.current(study, request.user)
    live = settings.of_study(study)
    ended = talks.ended(study, request.user)
    context = {
        "study": study,
        "shown": talks.show(current) if current else None,
        "open": live is not None and study.status == Study.Status.OPEN,
        "live": live,
        "ended": ended,
        "more": live is not None and ended < live.talks,
        "refusal": refusal,
        "typed": request.POST.get("text", "") if refusal else current.draft if current else "",
    }
    return whole_or_part(request, "live/talk.html", "talk", context)


@study_page(policies.task.may_change, "GET", "POST")
def setup(request: UserRequest, study: Study) -> HttpResponse:
    """Whether and how people of the study talk with systems."""
    off = "off" in request.POST
    form = LiveForm(request.POST if request.method == "POST" and not off else None, study=study)
    if off or form.is_valid():
        with refusals.in_form(form):
            settings.save_live(study, None if off else form.schema, by=request.user)
            messages.success(request, _("Saved."))
            return redirect("talk-setup", study.slug)
    context = {"study": study, "form": form}
    return show(request, "live/setup.html", context)
