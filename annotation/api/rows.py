"""What a study is made of, over HTTP: lists to pull, and rows to add as in a bundle's files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from annotation import policies
from annotation.api.base import StudyView, call, shown
from annotation.api.http import page_since
from annotation.judging.imports import bundles
from annotation.judging.models import Item, ItemOption
from annotation.personas.models import Attribute, Memory, Persona, PersonaVersion
from annotation.studies.access import study_for
from annotation.studies.models import Study

LIMIT = 1000
PAGES = [
    OpenApiParameter("since", str, description="Go on after this place of the list."),
    OpenApiParameter("page_size", int, description="Rows a page, up to 1000."),
]


class RowsBody(serializers.Serializer):
    """Rows of a bundle's file, at most 1000; their fields are those of the file."""

    rows = serializers.ListField(child=serializers.JSONField(), min_length=1, max_length=LIMIT)
    skip_faulty = serializers.BooleanField(
        default=False, help_text="Store the others where some are faulty; else nothing is stored."
    )


class RowFault(serializers.Serializer):
    row = serializers.IntegerField(help_text="Counted from 0.")
    detail = serializers.CharField()


class Added(serializers.Serializer):
    stored = serializers.IntegerField(help_text="How many of the rows the study has now.")
    faults = RowFault(many=True)


class RowsPage(serializers.Serializer):
    results = serializers.ListField(child=serializers.DictField())
    since = serializers.CharField(help_text="Ask with it later for what came after this page.")
    more = serializers.BooleanField(help_text="Whether there are more rows already.")


@dataclass(frozen=True)
class Resource:
    """A list of a study: who may read and change it, its rows in ``order``, and a row's JSON."""

    policy: type[Any]
    listed: Callable[[Study], QuerySet]
    fields: Callable[[Any], dict]
    order: tuple[str, ...] = ("pk",)


def _persona(persona: Persona) -> dict:
    version = persona.versions.all()[0]
    return {
        "id": persona.external_id,
        "profile": version.profile,
        "version": version.version,
        "dropped": persona.dropped_because or None,
        "split": persona.split or None,
    }


def _item(item: Item) -> dict:
    paths = {"query": "query.external_id", "attribute": "attribute.external_id"}
    return {
        "id": item.external_id,
        "task": item.batch.task.name,
        **shown(item, "overlap", "done", **paths),
        "candidates": [option.candidate.external_id for option in item.options.all()],
    }


def _personas(study: Study) -> QuerySet:
    newest = PersonaVersion.objects.order_by("-version")
    return study.personas.prefetch_related(Prefetch("versions", newest))


def _items(study: Study) -> QuerySet:
    options = ItemOption.objects.select_related("candidate").order_by("number")
    work = Item.objects.work().filter(study=study)
    related = work.select_related("batch__task", "query", "attribute")
    return related.prefetch_related(Prefetch("options", options))


PERSONA = {"persona": "persona.external_id"}
OF_QUERY = ("text", "messages", "need", "type", "scenario", "asked_on", "language", "version")
OF_CANDIDATE = ("text", "model", "strategy", "urls", "status", "created_at")
OF_ATTRIBUTE = ("text", "confidence", "model", "since", "until", "turn")
RESOURCES = {
    "personas": Resource(policies.persona, _personas, _persona),
    "memories": Resource(
        policies.persona,
        lambda study: Memory.objects.filter(persona__study=study).select_related("persona"),
        lambda memory: shown(memory, "text", "since", "until", **PERSONA),
    ),
    # An owner's question is the owner's until it is released.
    "queries": Resource(
        policies.query,
        lambda study: study.queries.filter(replaced_at=None, owner=None).select_related("persona"),
        lambda query: shown(query, *OF_QUERY, id="external_id", **PERSONA) | {"owned": False},
    ),
    "candidates": Resource(
        policies.candidate,
        lambda study: study.candidates.filter(query__owner=None).select_related("query"),
        lambda row: shown(row, *OF_CANDIDATE, id="external_id", query="query.external_id"),
        ("created_at", "pk"),
    ),
    "attributes": Resource(
        policies.persona,
        lambda study: Attribute.objects.filter(persona__study=study).select_related("persona"),
        lambda attribute: shown(attribute, *OF_ATTRIBUTE, id="external_id", **PERSONA),
    ),
    "items": Resource(policies.batch, _items, _item, ("position",)),
}


class RowsOfStudy(StudyView):
    """One of ``RESOURCES``: what the study has, and rows to add."""

    resource = ""

    @call(parameters=PAGES, answer=RowsPage)
    def get(self, request: Request, slug: str) -> Any:
        """The study's rows, oldest first. `since` of an answer leads to what came after it."""
        resource = RESOURCES[self.resource]
        study = study_for(request.user, slug, resource.policy.may_read)
        return page_since(request, resource.listed(study), resource.fields, resource.order)

    @call(takes=RowsBody, answer=Added, status=201, key=True)
    def post(self, request: Request, body: dict, slug: str) -> Any:
        """Add rows; one the study has already changes nothing, a faulty one is named."""
        study = study_for(request.user, slug, RESOURCES[self.resource].policy.may_change)
        values, skip = body["rows"], body["skip_faulty"]
        faults = bundles.add_rows(study, self.resource, values, skip_faulty=skip, by=request.user)
        faulty = {fault["row"] for fault in faults}
        return {"stored": len(values) - len(faulty), "faults": faults}
