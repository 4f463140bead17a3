from annotation.candidates.scores import import_scores
from annotation.core.records import bar
from annotation.studies.commands import ImportCommand
from annotation.studies.models import Study


class Command(ImportCommand):
    help = (
        "Import aspect scores of a study's answers from CSV or JSON lines (candidate, aspect, "
        "score and, where there are several, source). Where scores do not fit, they are "
        "listed and nothing is stored, unless --skip-faulty."
    )
    rows = "scores"

    def store(self, study: Study, file: str) -> dict:
        return import_scores(study, file, progress=bar)

    def summary(self, result: dict) -> str:
        scores, answers, rejected = result["scores"], result["candidates"], len(result["rejected"])
        return f"{scores:,} scores of {answers:,} answers; {rejected:,} rejected"
