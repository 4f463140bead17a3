"""The annotator's own pages: the desk, past judgments, the download, the way out of a study."""

from dataclasses import replace
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe
from pydantic.dataclasses import dataclass as schema

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core.errors import DomainError, uuid_or_not_found
from annotation.core.pages import Listing, Wanted, is_seen, show, whole_or_part, words_in
from annotation.core.schema import asked, form_of
from annotation.judging.annotator import checklist, data_export, leaving, overview
from annotation.judging.models import Participation
from annotation.judging.work import comments, hidden_checks
from annotation.policies import Member
from annotation.queries import owner_queries
from annotation.studies import crowd
from annotation.studies.access import may_create, member_of, study_for
from annotation.studies.models import Role, Study

STUDIES = 200
# Studies that stand open on a desk, and rows that one screen holds.
OPEN, LISTED = 3, 15
JUDGMENTS_A_PAGE = 25
ANY = gettext_lazy("any")


def _count(name: str, study: Study) -> object:
    return (study.counts or {}).get(name, "")


@schema(frozen=True)
class Sought(Wanted):
    """Which studies are listed, and in which order."""

    status: str = asked(gettext_lazy("State"), "", choices={"": ANY, **dict(Study.Status.choices)})
    role: str = asked(gettext_lazy("Role"), "", choices={"": ANY, **dict(Role.choices)})


LIST = Listing(
    "studies",
    columns={
        "study": lambda study: study.slug,
        "title": lambda study: study.title,
        "status": lambda study: study.status,
        "role": lambda study: study.role or "",
        **{name: partial(_count, name) for name in ("done", "wanted", "people", "last")},
    },
    rules={
        "q": words_in("title", "slug", "description"),
        "status": lambda rows, _study, status: rows.filter(status=status),
        "role": lambda rows, _study, role: rows.filter(role=role),
    },
    model=Sought,
    form=lambda data, _study: form_of(Sought)(data),
    first=("status", "role", "sort"),
)


@login_not_required
@require_safe
def home(request: UserRequest) -> HttpResponse:
    """Everybody's desk: the studies they are in, what waits there, and how far they are.

    A visitor finds what this is, an item to try, and the two ways in.
    """
    if not request.user.is_authenticated:
        return render(request, "judging/front.html")
    visible = Study.objects.visible_to(request.user).with_membership(request.user)
    studies = list(visible.order_by("title")[:STUDIES])
    standing = {study: member_of(request.user, study) for study in studies}
    judged = [study for study in studies if policies.judgment.may_give(standing[study])]
    places = overview.places(request.user, judged) if judged else {}
    completion = _hold_to_quota(request.user, places) if request.user.worker else None
    asking = (
        owner_queries.asking([study for study in judged if study.consented]) if judged else set()
    )
    lists = {
        study.pk: checklist.checklist(request.user, study) for study in judged if study.pk in asking
    }
    # As a member: the site's administrator may read those of every study, and is told of none.
    reading = [study for study in studies if policies.message.may_read(Member(study.role))]
    unread = overview.unread(request.user, reading)
    answers = comments.unread(request.user, judged) if judged else {}
    overview.tell(request.user, studies)
    rows = [
        overview.DeskRow(
            study,
            places.get(study.pk),
            unread.get(study.pk, []),
            answers.get(study.pk, []),
            lists.get(study.pk),
            study.counts,
        )
        for study in studies
    ]
    rows.sort(key=lambda row: row.rank)
    left = list(overview.left(request.user))
    context = {
        "rows": rows[:LISTED],
        "further": len(rows) - len(rows[:LISTED]),
        "folded": len(rows) > OPEN,
        # Who annotates or has left may have a history; studies that ask for one lead there. A
        # participant's account would be closed by one (crowd.enter).
        "history": not asking and bool(judged or left) and not request.user.worker,
        "completion": completion,
        "left": left,
        "may_create": may_create(request.user),
    }
    return render(request, "judging/desk.html", context)


@require_safe
def studies(request: UserRequest) -> HttpResponseBase:
    """The list of the studies that the person is in; of all for the site's administrator."""
    rows = Study.objects.visible_to(request.user).with_membership(request.user)
    listing = replace(LIST, shown=partial(overview.tell, request.user))
    context = {"may_create": may_create(request.user)}
    return listing.answer(request, None, rows, "judging/studies.html", context)


def _hold_to_quota(user: User, places: dict) -> crowd.Completion | None:
    """Let no more wait in a participant's ``places`` than the quota leaves; the code if it is due.

    Checks count towards the quota as work does, so the number betrays none.
    """
    completion = None
    for pk, place in places.items():
        entry = crowd.entry_of(user, place.study)
        if entry and entry.source.quota is not None:
            left = max(entry.source.quota - place.done - place.held, 0)
            if place.more or left < place.waiting:
                places[pk] = replace(place, waiting=left, more=False)
        done = Participation.done_by(user, place.study)
        over = places[pk].state == "done"
        completion = crowd.completion(user, place.study, done, nothing_left=over) or completion
    return completion


@require_safe
def steps(request: UserRequest, slug: str) -> HttpResponse:
    """The checklist of a study in which people judge answers to their own questions."""
    study = owner_queries.study_of(request.user, slug)
    context = {"study": study, "checklist": checklist.checklist(request.user, study)}
    return whole_or_part(request, "judging/owner_steps.html", "steps", context)


@require_http_methods(["GET", "POST"])
def past(request: UserRequest, slug: str) -> HttpResponse:
    """What this person has judged in the study; POST comments on one for the curators."""
    study = study_for(request.user, slug, policies.judgment.may_read_own)
    refusal = None
    if request.method == "POST":
        try:
            comments.write_comment(
                study, _slot(request), request.user, request.POST.get("text", "")
            )
        except DomainError as error:
            refusal = error
        else:
            messages.success(request, _("The curators can read your comment."))
            if "at_item" in request.POST:
                return redirect("judged", slug, _slot(request))
            return redirect(request.get_full_path())
    judgments = Paginator(overview.judgments(study, request.user), JUDGMENTS_A_PAGE)
    page = judgments.get_page(request.GET.get("page"))
    rows = overview.judgment_rows(study, list(page))
    if is_seen(request):
        comments.mark_read(request.user, [judgment.slot_id for judgment in page])
    context = {
        "study": study,
        "page": page,
        "rows": rows,
        "training": hidden_checks.training_record(study, request.user),
        "refusal": refusal,
        "typed": request.POST,
    }
    return show(request, "judging/desk_past.html", context)


@require_safe
def download(request: UserRequest, slug: str) -> HttpResponseBase:
    """Everything this person gave in the study, as one JSON file; also after they have left."""
    study = overview.own_study(request.user, slug)
    answer = StreamingHttpResponse(
        data_export.stream(study, request.user), content_type="application/json"
    )
    answer["Content-Disposition"] = f'attachment; filename="{study.slug}-mine.json"'
    return answer


@require_http_methods(["GET", "POST"])
def leave(request: UserRequest, slug: str) -> HttpResponse:
    """Stop taking part, with one's judgments or without them; who has left may still take them."""
    study = overview.own_study(request.user, slug)
    choice = request.POST.get("choice")
    if request.method == "POST" and choice in ("stay", "withdraw"):
        taken = leaving.withdraw(study, request.user) if choice == "withdraw" else None
        leaving.leave(study, request.user)
        messages.success(request, _left(taken))
        return redirect("home")
    refused = request.method == "POST"
    entry = crowd.entry_of(request.user, study)
    context = {"study": study, "refused": refused, "crowd": entry}
    return render(request, "judging/desk_leave.html", context, status=400 if refused else 200)


def _left(taken: int | None) -> str:
    if taken is None:
        return _("You have left the study. What you judged stays.")
    return ngettext(
        "You have left the study, and your %(n)d judgment is taken out.",
        "You have left the study, and your %(n)d judgments are taken out.",
        taken,
    ) % {"n": taken}


def _slot(request: UserRequest) -> UUID:
    return uuid_or_not_found(request.POST.get("slot"), _("You have not judged this item."))
