"""The steps of generation: a new one is a class here and a line of the table."""

from annotation.candidates.steps import extraction, personas, questions
from annotation.candidates.steps.base import Step

STEPS: dict[str, Step] = {
    step.name: step()
    for step in (
        personas.Personas,
        personas.Memories,
        personas.Features,
        questions.Specific,
        questions.Pool,
        questions.Match,
        extraction.Extract,
        extraction.Verify,
    )
}
