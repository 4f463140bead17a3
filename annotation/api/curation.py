"""A study's checks, and what its answers rest on, over HTTP."""

from typing import Any

from rest_framework.request import Request

from annotation import policies
from annotation.api.base import StudyView, call
from annotation.candidates import retrieve
from annotation.judging.curator import checks
from annotation.judging.models import Checks
from annotation.judging.work.hidden_checks import Rates
from annotation.studies.models import Study


class ChecksOfStudy(StudyView):
    @call(policies.check.may_change, name="checks", answer=Rates)
    def get(self, request: Request, study: Study) -> Any:
        """How often the study trains, checks, and lets owners judge their own items again."""
        return Checks.objects.filter(study=study).first() or Checks()

    @call(policies.check.may_change, name="checks_save", takes=Rates, answer=Rates)
    def put(self, request: Request, study: Study, rates: Rates) -> Any:
        """Set it; hidden checks get new places for everybody."""
        return checks.set_rates(study, rates, by=request.user)


class StudyRetrieval(StudyView):
    @call(policies.source.may_change, answer=retrieve.Search)
    def get(self, request: Request, study: Study) -> Any:
        """The sources and strategies of the study's search-augmented answers."""
        return retrieve.settings_of(study)

    @call(policies.source.may_change, takes=retrieve.Search, partial=True, answer=retrieve.Search)
    def put(self, request: Request, study: Study, wanted: dict) -> Any:
        """Set what is named; ``oracle`` makes the study one that may show the need to models."""
        return retrieve.save_retrieval(study, wanted, by=request.user)
