"""The page that lists what is removed with an object, before it is removed."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.judging.curator import removal
from annotation.studies.access import study_for

# Where to go when it is done.
BACK = {
    "query": "queries",
    "task": "tasks",
    "answer": "candidates",
    "attribute": "personas",
    "batch": "tasks",
}


@require_http_methods(["GET", "POST"])
def remove(request: UserRequest, slug: str, what: str, key: str) -> HttpResponse:
    """Show what taking back ``what`` with the id ``key`` means; POST does it."""
    may = policies.study.may_administer if what == "study" else policies.study.may_curate
    study = study_for(request.user, slug, may)
    if what not in removal.WORDS:
        raise Http404
    thing = removal.thing_of(study, what, pk=key)
    if request.method == "GET":
        plan = removal.look(study, what, thing)
        context = {"study": study, "plan": plan, "word": removal.WORDS[what]}
        context["back"] = BACK.get(what, "settings")
        return render(request, "judging/remove.html", context)
    done = removal.remove(study, what, thing, by=request.user)
    words = _("“%(name)s” is deleted.") if done.deletes else _("“%(name)s” is put aside.")
    messages.success(request, words % {"name": done.name[:80]})
    if what == "study":
        return redirect("home") if done.deletes else redirect("settings", slug)
    return redirect(BACK[what], slug)
