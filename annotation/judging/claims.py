"""From judged answers to gold information: the response to start from, claims, the rubric; and the
owner's page of them.

Claims and rubrics are written by a model as rows of ``candidates``; ``pull`` takes over what has
come back.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable
from statistics import fmean
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.candidates import endpoints, generate, strategies
from annotation.candidates.models import Candidate
from annotation.core import refusals
from annotation.core.errors import Conflict, DomainError
from annotation.core.pages import show
from annotation.core.records import clean
from annotation.core.text import compared
from annotation.judging.batches.open import open_batch
from annotation.judging.kinds import accepted, claim_reviews, score_rows
from annotation.judging.kinds.presets import CLAIMS as CLAIM_TASKS
from annotation.judging.models import Draft, Item, Judgment, Slot
from annotation.queries import author, owner_queries, scenarios
from annotation.queries.models import GoldResponse, Query
from annotation.studies.access import study_for
from annotation.studies.models import Study

Purpose = Candidate.Purpose
CLAIMS, RUBRIC, REFINED = Purpose.CLAIMS, Purpose.RUBRIC, Purpose.REFINED
WISH_LIMIT = 2_000
# What a model puts before a line of a list.
_BULLET = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,3}[.):])\s*")
# Where a sentence ends: in scripts without spaces right behind the sign.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[。！？])")
# In the place of the model's name where claims are the sentences of the response.
BY_SENTENCE = "sentences"
# So many sentences may be one claim.
MOST_IN_ONE = 2


def scored(query: Query, owner: User) -> list[dict]:
    """The owner's scored answers to ``query``, best mean first.

    Each is {"candidate", "mean", "scores": [(criterion, score, feedback)]}.
    """
    standing = Judgment.objects.standing().filter(annotator=owner, slot__item__query=query)
    scores_of = defaultdict(list)
    columns = ("candidate", "criterion", "score", "feedback_text")
    for candidate, *score in score_rows(standing).order_by("part").values_list(*columns):
        scores_of[candidate].append(tuple(score))
    candidates = Candidate.every.in_bulk(scores_of)
    answers = [
        {"candidate": candidates[pk], "scores": scores, "mean": fmean(row[1] for row in scores)}
        for pk, scores in scores_of.items()
    ]
    return sorted(answers, key=lambda answer: -answer["mean"])


def request_refined(query: Query, owner: User, wish: str, *, endpoint: str = "") -> Candidate:
    """Ask a model to rewrite the newest gold response as its owner wishes; the row of the job.

    What it writes becomes the next version, with the row as its source: every round is kept.
    """
    wish, response = clean(wish).strip(), author.newest(query)
    if response is None:
        raise DomainError(_("Save a gold response first."), code="gold")
    if not 0 < len(wish) <= WISH_LIMIT:
        words = _("Say in 1 to %d characters what the model is to change.")
        raise DomainError(words % WISH_LIMIT, code="text")
    prompt = strategies.refined(query.text, query.need, response.text, wish)
    name = f"{response.pk}-{hashlib.sha256(wish.encode()).hexdigest()[:8]}"
    return generate.request_text(query, REFINED, name, prompt, endpoint=endpoint, by=owner)


def request_claims(
    response: GoldResponse, *, endpoint: str = "", by: User | None = None
) -> Candidate:
    """Ask a model to split a gold response into claims; the row of the job."""
    if response.claims.exists():
        raise Conflict(_("This version has its claims already."), code="claims")
    prompt = strategies.claims(response.query.text, response.text)
    return generate.request_text(
        response.query, CLAIMS, str(response.pk), prompt, endpoint=endpoint, by=by
    )


def write_by_hand(response: GoldResponse, owner: User, text: str) -> GoldResponse:
    """Take the lines of ``text`` as the claims of a response, and open them for their owner.

    A response that has claims already gets them as its next version. DomainError without a line.
    """
    texts = lines(clean(text))
    if not texts:
        raise DomainError(_("Write at least one claim, each on a line of its own."), code="text")
    if any(len(line) > author.CLAIM_LIMIT for line in texts) or len(texts) > author.CLAIMS_LIMIT:
        limits = {"n": author.CLAIMS_LIMIT, "characters": author.CLAIM_LIMIT}
        sentence = _("Write up to %(n)d claims of up to %(characters)d characters.") % limits
        raise DomainError(sentence, code="text")
    with transaction.atomic():
        if response.claims.exists():
            response = author.refine_response(response, owner)
        author.set_claims(response, texts)
        _close_earlier(response)
        _open_claims(response.query.study)
    return response


def split_again(response: GoldResponse, owner: User, *, endpoint: str = "") -> Candidate:
    """Ask a model to split a response once more, as its next version; the row of the job.

    The claims that are there stay with their version, as does what their owner decided on them: it
    counts until the new claims are decided on. Raises Conflict where no claims are there yet.
    """
    if not response.claims.exists():
        raise Conflict(_("This version has no claims yet."), code="claims")
    with transaction.atomic():
        anew = author.refine_response(response, owner)
        return request_claims(anew, endpoint=endpoint, by=owner)


def request_rubric(query: Query, owner: User, *, endpoint: str = "") -> Candidate:
    """Ask a model for the rubric of the owner's judgments; the row of the job.

    It sees the judgments of shots alone: the other answers test judges that are shown the rubric.
    """
    judged = {str(answer["candidate"].pk): answer for answer in scored(query, owner)}
    if not judged:
        raise DomainError(_("Judge at least one answer to this query first."), code="judged")
    texts = {pk: answer["candidate"].text for pk, answer in judged.items()}
    rubric = author.newest_rubric(query)
    drawn = scenarios.draw(query.text, texts, held=(rubric and rubric.shots) or ())
    shown = [(texts[pk], answer["scores"]) for pk, answer in judged.items() if pk in drawn]
    last = Judgment.objects.filter(annotator=owner, slot__item__query=query).latest("pk").pk
    prompt = strategies.rubric(query.text, query.need, shown)
    return generate.request_text(
        query, RUBRIC, f"shots-{last}", prompt, endpoint=endpoint, by=owner, shots=sorted(drawn)
    )


def pull() -> int:
    """Take over claims, rubrics and gold responses that models have written; how many. May run at
    any time.

    One that cannot be stored becomes a failed job with the reason, and keeps no other waiting.
    """
    done = Candidate.every.filter(purpose__in=_TAKE, status="done", taken_at=None)
    count = 0
    # Owners who withdrew had the text erased.
    for row in done.exclude(text="").select_related("query__study"):
        fields: dict[str, Any] = {"taken_at": row.answered_at}
        try:
            with transaction.atomic():
                _TAKE[Purpose(row.purpose)](row)
            count += 1
        except DomainError as refusal:
            fields = {"status": "failed", "error_code": "unfit", "error": refusal.sentence}
        Candidate.every.filter(pk=row.pk).update(**fields)
    return count


def reviewed(query: Query, owner: User) -> Judgment | None:
    """The owner's review of the newest version whose claims they decided on."""
    reviews = claim_reviews().standing().filter(slot__item__gold__query=query, annotator=owner)
    return reviews.order_by("-slot__item__gold__version", "-pk").first()


def information(review: Judgment | None) -> list[str]:
    """The gold information: the claims that the owner accepted, as edited; [] before the review."""
    return accepted(review) if review else []


def lines(text: str) -> list[str]:
    """The claims in what a model wrote: its lines, without bullets, numbers and headings."""
    bare = (_BULLET.sub("", line).strip().strip("*").strip() for line in text.splitlines())
    return [line for line in bare if line and not line.startswith("#") and not line.endswith(":")]


def sentences(text: str) -> list[str]:
    """The sentences of a response, without the marks of lists and headings."""
    parts = (part.strip() for line in lines(text) for part in _SENTENCE_END.split(line))
    return [part for part in parts if part]


def _take_claims(row: Candidate) -> None:
    response = GoldResponse.objects.filter(pk=row.strategy.partition("-")[2]).first()
    if response is None:
        return
    claims, model = lines(row.text), row.model
    if len(claims) < 2 and len(sentences(response.text)) > MOST_IN_ONE:
        # A small model gives a whole response back as one claim.
        claims, model = sentences(response.text), BY_SENTENCE
    author.set_claims(response, claims or [response.text], model=model)
    _close_earlier(response)
    _open_claims(row.query.study)


def _close_earlier(response: GoldResponse) -> None:
    """Close the review of earlier versions' claims, unless their owner has started it."""
    begun = Draft.objects.filter(slot=OuterRef("pk"))
    earlier = Slot.objects.filter(
        ~Exists(begun),
        status__in=(Slot.Status.OPEN, Slot.Status.HELD),
        item__gold__query=response.query_id,
        item__gold__version__lt=response.version,
    )
    Item.objects.filter(slots__in=earlier).update(retired_at=Now())
    earlier.update(
        status=Slot.Status.CLOSED, annotator=None, claimed_at=None, lease_expires_at=None
    )


def _open_claims(study: Study) -> None:
    """Open the owner's items of the claims that are new, in every claims task of the study."""
    tasks = study.tasks.filter(kind=CLAIM_TASKS.code).order_by("name", "-version").distinct("name")
    if study.status == Study.Status.OPEN:
        for task in tasks:
            open_batch(study, task)


_TAKE: dict[Purpose, Callable[[Candidate], object]] = {
    CLAIMS: _take_claims,
    RUBRIC: lambda row: author.save_rubric(
        row.query, row.text, model=row.model, shots=row.parameters.get("shots")
    ),
    REFINED: lambda row: author.save_response(row.query, None, row.text, source=row.pk),
}


# --- The page -----------------------------------------------------------------------------------


def _study_and_query(request: UserRequest, slug: str, key: str) -> tuple[Study, Query]:
    study = study_for(request.user, slug, policies.query.may_write_own)
    if not study.consented:
        raise PermissionDenied
    return study, get_object_or_404(owner_queries.of(study, request.user), external_id=key)


@require_http_methods(["GET", "POST"])
def page(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """GET shows all of it; POST saves the gold response as its next version, or has a model refine
    the newest one.
    """
    study, query = _study_and_query(request, slug, key)
    if request.htmx:
        # Only what is being written: the fields may hold what nobody has saved yet.
        context = {"study": study, "query": query, "asked": True} | _jobs(query)
        return render(request, "judging/gold.html#jobs", context)
    if request.method == "GET":
        return _page(request, study, query)
    if "wish" in request.POST:
        with refusals.as_message(request):
            wish, endpoint = request.POST["wish"], request.POST.get("endpoint", "")
            request_refined(query, request.user, wish, endpoint=endpoint)
        return redirect("gold", slug, key)
    judged = scored(query, request.user)
    best = judged[0]["candidate"].pk if judged and "empty" not in request.GET else None
    try:
        author.save_response(query, request.user, request.POST.get("text", ""), source=best)
    except DomainError as refusal:
        return _page(request, study, query, refusal)
    messages.success(request, _("The gold response is saved; its earlier versions are kept."))
    return redirect("gold", slug, key)


@require_POST
def split(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """Ask the chosen model server to split the newest gold response into claims, or once more."""
    _study, query = _study_and_query(request, slug, key)
    response = author.newest(query)
    endpoint = request.POST.get("endpoint", "")
    with refusals.as_message(request):
        if response is None:
            raise DomainError(_("Save a gold response first."))
        if "by_hand" in request.POST:
            write_by_hand(response, request.user, request.POST.get("claims", ""))
        elif "again" in request.POST:
            split_again(response, request.user, endpoint=endpoint)
        else:
            request_claims(response, endpoint=endpoint, by=request.user)
    return redirect("gold", slug, key)


@require_POST
def rubric(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """Save the rubric as edited, or ask a model server to write one from the owner's judgments."""
    _study, query = _study_and_query(request, slug, key)
    with refusals.as_message(request):
        if "write" in request.POST:
            request_rubric(query, request.user, endpoint=request.POST.get("endpoint", ""))
        else:
            author.save_rubric(query, request.POST.get("text", ""), author=request.user)
            messages.success(request, _("The rubric is saved; its earlier versions are kept."))
    return redirect("gold", slug, key)


def _page(
    request: UserRequest, study: Study, query: Query, refusal: DomainError | None = None
) -> HttpResponse:
    judged = scored(query, request.user)
    versions = list(query.gold_responses.order_by("-version"))
    newest = versions[0] if versions else None
    # What a person finds in the field first: their own words, else the answer they liked best.
    empty = "empty" in request.GET or not judged
    liked = judged[0]["candidate"].text if judged else ""
    text = newest.text if newest else "" if empty else liked
    before = versions[1].text if len(versions) > 1 else liked
    review = reviewed(query, request.user)
    context = {
        "study": study,
        "query": query,
        "judged": judged,
        "versions": versions,
        "newest": newest,
        "text": request.POST.get("text", "") if refusal else text,
        "empty": empty and bool(judged),
        "refusal": refusal,
        "changes": compared(before, newest.text)
        if newest and before not in ("", newest.text)
        else [],
        "reviewed": review and review.slot.item.gold,
        "information": information(review),
        "claims": newest.claims.all() if newest else [],
        "rubric": author.newest_rubric(query),
        "servers": endpoints.usable(),
    } | _jobs(query)
    return show(request, "judging/gold.html", context)


def _jobs(query: Query) -> dict:
    """What was asked of a model and has not come back, and whether it still may by itself."""
    waiting = Candidate.every.filter(query=query, taken_at=None).exclude(purpose="answer")
    jobs = list(waiting.order_by("created_at", "pk"))
    running = {job.purpose for job in jobs if job.status != "failed"}
    return {"jobs": jobs, "running": running, "splitting": "claims" in running}
