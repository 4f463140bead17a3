"""The steps of generation: a new one is a class here and a line of the table."""

from annotation.candidates.steps import people, questions
from annotation.candidates.steps.base import Step

STEPS: dict[str, Step] = {
    step.name: step()
    for step in (
        people.Personas,
        people.Memories,
        people.Features,
        questions.Specific,
        questions.Pool,
        questions.Match,
        people.Extract,
        people.Verify,
    )
}
