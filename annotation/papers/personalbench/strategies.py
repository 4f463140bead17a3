"""How the paper has an answer personalised: from an attribute of the person. Pure."""

from django.utils.translation import gettext_lazy as _

from annotation.candidates import prompts
from annotation.candidates.strategies import FROM_ATTRIBUTES, Ask, Brief, Draft, Strategy


def _from_attributes(brief: Brief, ask: Ask) -> Draft:
    about = "\n".join(f"- {statement}" for statement in brief.attributes)
    prompt = prompts.personal_answer(brief.question, about, manner=brief.manner)
    return Draft(prompt, {"attributes": list(brief.attributes)})


STRATEGIES = {
    FROM_ATTRIBUTES: Strategy(
        _from_attributes,
        words=_("attributes: from the persona's attributes"),
        place=4,
        needs_persona=True,
        needs_attributes=True,
    )
}
