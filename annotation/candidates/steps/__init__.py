"""The steps of generation: a new one is a module here and a line of the table."""

from annotation.candidates.steps import extraction, personas, questions
from annotation.candidates.steps.base import Step

STEPS: dict[str, Step] = {
    step.name: step
    for step in (
        personas.PERSONAS,
        personas.MEMORIES,
        personas.FEATURES,
        questions.SPECIFIC,
        questions.POOL,
        questions.MATCH,
        extraction.EXTRACT,
        extraction.VERIFY,
    )
}
