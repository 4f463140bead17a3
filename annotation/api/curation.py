"""Curation over HTTP: personas, attributes, checks, the end of votes, and what answers rest on."""

from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from annotation import policies
from annotation.accounts.models import User
from annotation.agreement.statistics.tiers import STOPS
from annotation.agreement.tiers import collection
from annotation.api.base import StudyView, call, validated
from annotation.api.bodies import Number, serializer_of
from annotation.candidates import attributes, documents, retrieve, review
from annotation.candidates.attributes import Thresholds
from annotation.candidates.models import DocumentFile
from annotation.core.errors import DomainError, NotFound
from annotation.judging.curator import checks
from annotation.judging.models import Checks
from annotation.judging.work.hidden_checks import Rates
from annotation.personas import board, conversations, curate
from annotation.personas.board import Tally
from annotation.personas.conversations import Filters
from annotation.personas.models import PairDecision, Persona
from annotation.studies.access import study_for
from annotation.studies.models import Study
from annotation.votes import counting

MOST = 1000
FILES = 100
PAIRS, VALUES = 100, 50
SIDES = (*Persona.Split.values, "")


class PersonaId(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=100, **options)


class PersonaReviewBody(serializers.Serializer):
    ids = serializers.ListField(child=PersonaId(), min_length=1, max_length=MOST)
    reason = serializers.ChoiceField(
        choices=list(curate.REASONS),
        allow_null=True,
        help_text="Why they are dropped; null takes them back into the study.",
    )


class BoardBody(serializers.Serializer):
    similar = Number(
        required=False, min_value=0, max_value=1, help_text="The cosine from which pairs are shown."
    )


class PairBody(serializers.Serializer):
    personas = serializers.ListField(child=PersonaId(), min_length=2, max_length=2)
    drop = PersonaId(allow_null=True, help_text="One of the two; null keeps both.")


SplitBody = serializer_of(board.Split, title="SplitBody")


class EarlyStopBody(serializers.Serializer):
    below = serializers.ChoiceField(choices=("", *STOPS), allow_blank=True)


class EarlyStopState(EarlyStopBody):
    """With how many ``items`` were stopped, and the votes ``saved``."""

    items = serializers.IntegerField()
    saved = serializers.IntegerField()


class PersonaReviews(StudyView):
    @call(policies.persona.may_change, name="persona_reviews")
    def get(self, request: Request, study: Study) -> Any:
        """The reasons of both rounds, and how many personas were dropped for each."""
        return {"kept": len(board.versions(study)), "dropped": curate.dropped(study)}

    @call(policies.persona.may_change, name="review_personas", takes=PersonaReviewBody)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Drop personas for a reason of round 1 or 2, or take them back: all of them or none."""
        with transaction.atomic():
            people = _personas(study, wanted["ids"])
            for person in people:
                if wanted["reason"] is None:
                    curate.restore(person, by=request.user)
                else:
                    curate.drop(person, wanted["reason"], by=request.user)
        return {"reviewed": len(people)}


class PersonaBoard(StudyView):
    @call(policies.persona.may_change, name="persona_board", takes=BoardBody)
    def get(self, request: Request, study: Study, wanted: dict) -> Any:
        """Of whom the personas consist, and the pairs that are alike and wait for a decision."""
        similar = wanted.get("similar", review.similarity_of(None, study))
        people = board.versions(study)
        pairs = board.undecided(study, people, min(similar, board.THRESHOLDS[0]))
        shown = [_pair(pair) for pair in pairs if pair.similarity >= similar]
        funnel = review.persona_funnel(study)
        return {
            "personas": len(people),
            "funnel": [{"step": str(words), "count": count} for words, count in funnel],
            "dimensions": [_dimension(values) for values in board.tallies(people)],
            "similar": similar,
            "pairs": shown[:PAIRS],
            "pairs_in_all": len(shown),
            "thresholds": [{"similar": at, "pairs": n} for at, n in board.preview_threshold(pairs)],
        }


class PersonaPairs(StudyView):
    @call(policies.persona.may_change, name="decide_pair", takes=PairBody, status=201)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Keep both personas of a pair, or drop one of them; a pair is decided once."""
        with transaction.atomic():
            first, second = _two(study, wanted["personas"])
            choices = {None: board.BOTH, first.external_id: board.FIRST}
            choice = choices.get(wanted["drop"], board.SECOND)
            if choice == board.SECOND and wanted["drop"] != second.external_id:
                raise DomainError("Only one of the two can be dropped.", code="choice")
            decision = board.decide_pair(study, first.pk, second.pk, choice, by=request.user)
        return _decision(decision)

    @call(policies.persona.may_change, name="undo_pair")
    def delete(self, request: Request, study: Study) -> Any:
        """Take your last decision back, and a drop with it."""
        return _decision(board.undo(study, by=request.user))


class PersonaSplit(StudyView):
    @call(policies.persona.may_change, name="preview_split", parameters=[SplitBody])
    def get(self, request: Request, study: Study) -> Any:
        """How many personas are on each side; with ``benchmark`` who would be, by dimension."""
        people = study.personas.filter(dropped_at=None)
        sides = {side or "none": people.filter(split=side).count() for side in SIDES}
        if not request.query_params:
            return {"sides": sides}
        proposal = board.propose(study, **validated(SplitBody, request.query_params))
        return {"sides": sides, "proposal": _proposal(proposal)}

    @call(policies.persona.may_change, name="split_personas", takes=SplitBody)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Divide the personas as the same call with GET proposes. Sides are for good."""
        return {"sides": board.make(study, **wanted, by=request.user)}


class ChecksOfStudy(StudyView):
    @call(policies.check.may_change, name="checks", answer=Rates)
    def get(self, request: Request, study: Study) -> Any:
        """How often the study trains, checks, and lets owners judge their own items again."""
        return Checks.objects.filter(study=study).first() or Checks()

    @call(policies.check.may_change, name="checks_save", takes=Rates, answer=Rates)
    def put(self, request: Request, study: Study, rates: Rates) -> Any:
        """Set it; hidden checks get new places for everybody."""
        return checks.set_rates(study, rates, by=request.user)


def _tiered_task(user: User, slug: str, task: str) -> tuple[Study, str]:
    """The study, and the name of its task whose items have tiers; NotFound for any other."""
    study = study_for(user, slug, policies.task.may_change)
    if not counting.tiered(study, task):
        raise NotFound(f"There is no task “{task[:60]}” whose items have tiers.")
    return study, task


class EarlyStopOfTask(StudyView):
    @call(_tiered_task, name="early_stop", answer=EarlyStopState)
    def get(self, request: Request, of: tuple[Study, str]) -> Any:
        """Whether items that can no longer reach a tier get no more votes, and what it saved."""
        return collection.stop_state(*of)

    @call(
        _tiered_task,
        name="early_stop_save",
        takes=EarlyStopBody,
        answer=EarlyStopState,
    )
    def put(self, request: Request, of: tuple[Study, str], wanted: dict) -> Any:
        """Stop items ``below`` "hard" or "borderline" from now on; "" stops no more."""
        collection.choose_stop(*of, **wanted, by=request.user)
        return collection.stop_state(*of)


def _personas(study: Study, ids: list[str]) -> list[Persona]:
    """The personas of these ids, in their order; DomainError names one that is missing."""
    people = {person.external_id: person for person in study.personas.filter(external_id__in=ids)}
    if missing := [key for key in ids if key not in people]:
        raise DomainError(f"There is no persona “{missing[0]}” in the study.", code="persona")
    return [people[key] for key in dict.fromkeys(ids)]


def _two(study: Study, ids: list[str]) -> list[Persona]:
    """The personas of a pair in the order in which decisions are stored."""
    people = _personas(study, ids)
    if len(people) < 2:
        raise DomainError("A pair is two personas of the study.", code="pair")
    return sorted(people, key=lambda person: person.pk)


def _dimension(values: Tally) -> dict:
    rows = [
        {"value": value, "personas": count, "over_represented": value in values.over}
        for value, count in values.rows[:VALUES]
    ]
    return {"name": values.dimension.name, "values": rows, "distinct": len(values.rows)}


def _pair(pair: board.Pair) -> dict:
    ids = [version.persona.external_id for version in pair.sides]
    return {"personas": ids, "similarity": round(pair.similarity, 4)}


def _decision(decision: PairDecision) -> dict:
    dropped = decision.dropped and decision.dropped.external_id
    return {"personas": [str(decision.first), str(decision.second)], "dropped": dropped}


def _proposal(proposal: board.Proposal) -> dict:
    sides = {"benchmark": proposal.benchmark, "training": proposal.training}
    ids = {
        side: [version.persona.external_id for version in people] for side, people in sides.items()
    }
    names = ("value", "benchmark", "training")
    dimensions = {
        dimension.name: [dict(zip(names, row, strict=True)) for row in rows[:VALUES]]
        for dimension, rows in proposal.by_dimension()
    }
    return ids | {"dimensions": dimensions}


class VerifierBody(serializers.Serializer):
    model = serializers.FileField(help_text="The .npz file that `train verifier` wrote.")
    flagged = serializers.ChoiceField(
        choices=attributes.FLAGGED,
        default=attributes.DROP,
        help_text="What becomes of statements that it finds problematic.",
    )


class ConversationsOfStudy(StudyView):
    @call(policies.generation.may_run, name="funnel", takes=Filters)
    def get(self, request: Request, study: Study, filters: Filters) -> Any:
        """How many people and conversations of the study's pool each filter leaves."""
        rows = conversations.funnel(study, filters)
        names = ("filter", "people", "conversations")
        return {"funnel": [dict(zip(names, row, strict=True)) for row in rows]}

    @call(policies.generation.may_run, name="take_people", takes=Filters)
    def post(self, request: Request, study: Study, filters: Filters) -> Any:
        """Make personas of the people whom the filters leave."""
        return conversations.take(study, filters, by=request.user)


class AttributesMade(StudyView):
    @call(policies.generation.may_run, name="preview_clusters", takes=Thresholds)
    def get(self, request: Request, study: Study, thresholds: Thresholds) -> Any:
        """What thresholds would make of the extracted statements."""
        preview = attributes.preview_thresholds(study, thresholds)
        examples = [[row.wording for row in cluster] for cluster in preview["examples"]]
        counts = ("statements", "people", "sampled", "confident", "attributes")
        return {name: preview[name] for name in counts} | {"examples": examples}

    @call(policies.generation.may_run, name="make_attributes", takes=Thresholds)
    def post(self, request: Request, study: Study, thresholds: Thresholds) -> Any:
        """Make attributes of the extracted statements; what people judge already stays."""
        return attributes.make(study, thresholds, by=request.user)


class AttributesVerified(StudyView):
    parser_classes = [MultiPartParser]

    @call(policies.generation.may_run, name="unverified")
    def get(self, request: Request, study: Study) -> Any:
        """How many extracted statements nothing verified yet."""
        return {"statements": attributes.unverified(study).count()}

    @call(policies.generation.may_run, name="verify_attributes", takes=VerifierBody, form=True)
    def post(self, request: Request, study: Study, body: dict) -> Any:
        """Let a trained verifier decide on the extracted statements that nothing verified yet."""
        model, card = attributes.uploaded(body["model"])
        refine = body["flagged"] == attributes.REFINE
        return attributes.verify(study, model, card, refine=refine, by=request.user)


class StudyRetrieval(StudyView):
    @call(policies.source.may_change, answer=retrieve.Search)
    def get(self, request: Request, study: Study) -> Any:
        """The sources and strategies of the study's search-augmented answers."""
        return retrieve.settings_of(study)

    @call(policies.source.may_change, takes=retrieve.Search, partial=True, answer=retrieve.Search)
    def put(self, request: Request, study: Study, wanted: dict) -> Any:
        """Set what is named; ``oracle`` makes the study one that may show the need to models."""
        return retrieve.save_retrieval(study, wanted, by=request.user)


class DocumentUpload(serializers.Serializer):
    file = serializers.FileField(help_text="JSON lines, HTML, PDF, Markdown or plain text.")


class DocumentFileBody(serializers.ModelSerializer):
    class Meta:
        model = DocumentFile
        fields = (
            *("id", "name", "size", "status", "requested_at", "done", "total"),
            *("added", "unchanged", "skipped", "skipped_count", "error"),
        )
        read_only_fields = fields


class Documents(StudyView):
    parser_classes = [MultiPartParser]

    @call(policies.source.may_change, name="documents")
    def get(self, request: Request, study: Study) -> Any:
        """How many documents the collection has, and its newest files with what came of each."""
        files = study.document_files.order_by("-pk")[:FILES]
        shown = DocumentFileBody(files, many=True).data
        return {"documents": study.documents.count(), "files": shown}

    @call(
        policies.source.may_change,
        name="documents_add",
        takes=DocumentUpload,
        form=True,
        answer=DocumentFileBody,
        status=202,
    )
    def post(self, request: Request, study: Study, sent: dict) -> Any:
        """Add the documents of a file; a worker reads it."""
        return documents.request_reading(study, sent["file"], request.user)

    @call(policies.source.may_change, name="documents_remove")
    def delete(self, request: Request, study: Study) -> Any:
        """Empty the collection. Answers keep the sources that they were written from."""
        return {"removed": documents.remove(study, by=request.user)}


class ConversationsOfMembers(StudyView):
    @call(policies.generation.may_run, name="add_histories")
    def post(self, request: Request, study: Study) -> Any:
        """Add the redacted chats of members who allow it to the study's pool; ``added`` is new."""
        return {"added": conversations.add_histories(study, by=request.user)}
