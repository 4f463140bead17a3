"""The page on which a curator tries a task as an annotator; nothing is stored."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import translation
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.judging.curator import preview
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.form import form_of
from annotation.judging.models import Batch
from annotation.judging.work import present
from annotation.studies.access import study_for
from annotation.studies.forms import LANGUAGES
from annotation.studies.models import Study, TaskDefinition

# Longer numbers are no item's.
DIGITS = 9


@require_http_methods(["GET", "POST"])
def try_task(request: UserRequest, slug: str, name: str) -> HttpResponse:
    """Show an item of the newest version of a task, ``?item=`` from 0; POST tries an answer.

    Without ``?item=`` it is the first one in the page's language.

    ``?batch=`` keeps to one batch, ``?language=`` is the language of the page.
    """
    study = study_for(request.user, slug, policies.task.may_change)
    task = study.tasks.filter(name=name).order_by("-version").first()
    if task is None:
        raise Http404
    batch = None
    if key := request.GET.get("batch"):
        batch = get_object_or_404(Batch, study=study, task__name=name, pk=_number(key))
    language = request.GET.get("language")
    if language not in dict(LANGUAGES):
        language = translation.get_language()

    def page(tried: preview.Tried) -> HttpResponse:
        return _page(request, study, task, batch, tried)

    data = request.POST if request.method == "POST" else None
    number = _number(request.GET["item"]) if "item" in request.GET else None
    with translation.override({"zh": "zh-hans"}.get(language, language)):
        return preview.try_task(study, task, number=number, batch=batch, data=data, render=page)


@require_POST
def try_form(request: UserRequest, slug: str) -> HttpResponse:
    """The judging page of the task that the form of ``tasks`` describes, or what is wrong with it.

    It stands in a frame beside the form, and nothing in it can be pressed.
    """
    study = study_for(request.user, slug, policies.task.may_change)
    data = request.POST.copy()
    data["name"] = data.get("name") or "preview"
    form = form_of(kind_of(data.get("kind") or next(iter(KINDS))), data, study=study)
    if not form.is_valid():
        return render(request, "judging/preview_form.html", {"form": form})

    def page(tried: preview.Tried) -> HttpResponse:
        context = {"study": study, "tried": tried, "shown": tried.shown}
        context |= present.form(tried.shown, present.fields({}))
        return render(request, "judging/preview_form.html", context)

    return preview.try_task(study, form.next_version(), render=page)


def _page(
    request: UserRequest,
    study: Study,
    task: TaskDefinition,
    batch: Batch | None,
    tried: preview.Tried,
) -> HttpResponse:
    typed = request.POST if tried.refusal else present.fields({})
    context = {
        "study": study,
        "task": task,
        "batch": batch,
        "tried": tried,
        "shown": tried.shown,
        "refusal": tried.refusal,
        "typed": typed,
        "languages": [entry for entry in LANGUAGES if entry[0] in study.languages],
        "language": request.GET.get("language", ""),
        **present.form(tried.shown, typed),
    }
    status = tried.refusal.status if tried.refusal else 200
    return render(request, "judging/preview.html", context, status=status)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else 0
