"""The prompts of generation as texts with places: built in, or a study's own version of them."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import PromptTemplate
from annotation.candidates.strategies import OF_STEPS, WORDINGS, Wording
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.studies.models import Study

LIMIT = 8_000


# What a study can word itself: the prompts of the steps, and those of answers.
EDITABLE = OF_STEPS | WORDINGS


def of(study: Study, name: str) -> Wording:
    """The study's newest wording of the prompt ``name``, or the built-in one."""
    template = PromptTemplate.objects.filter(study=study, name=name).order_by("-version").first()
    return _as_wording(template) if template else EDITABLE[name]


def of_answers(study: Study) -> dict[str, int]:
    """The study's own wordings of prompts of answers, the newest: {name: id of the version}."""
    rows = PromptTemplate.objects.filter(study=study, name__in=WORDINGS).order_by("version")
    return dict(rows.values_list("name", "pk"))


def versions(ids: dict[str, int]) -> dict[str, Wording]:
    """The wordings of which ``of_answers`` gave the ``ids``, by name."""
    rows = PromptTemplate.objects.select_related("study").in_bulk(ids.values())
    return {name: _as_wording(rows[pk]) for name, pk in ids.items()}


def _as_wording(template: PromptTemplate) -> Wording:
    return Wording(str(template), template.system, template.user)


def save_prompt(
    study: Study, name: str, system: str, user: str, *, by: User | None = None
) -> Wording:
    """Make the study's next version of a prompt; DomainError where it misses a place."""
    system, user = (text.replace("\r\n", "\n").strip() for text in (system, user))
    if name not in EDITABLE:
        raise DomainError(_("There is no such prompt."), code="template")
    if len(system) + len(user) > LIMIT or not user:
        sentence = _("A prompt has from 1 to {n} characters.").format(n=LIMIT)
        raise DomainError(sentence, code="template")
    places = Wording("", system, user).places
    for names, sentence in (
        (EDITABLE[name].needed - places, _("The prompt must name {names}.")),
        (places - EDITABLE[name].places, _("The prompt cannot name {names}.")),
    ):
        if names:
            braced = ", ".join(f"{{{place}}}" for place in sorted(names))
            raise DomainError(sentence.format(names=braced), code="template")
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        current = of(study, name)
        if (current.system, current.user) == (system, user):
            return current
        last = PromptTemplate.objects.filter(study=study, name=name).count()
        made = PromptTemplate.objects.create(
            study=study, name=name, version=last + 1, system=system, user=user, created_by=by
        )
        audit.record(by, "prompt.save", made, name=name, version=made.version)
    return _as_wording(made)
