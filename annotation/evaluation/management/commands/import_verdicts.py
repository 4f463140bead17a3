from annotation.evaluation.raters import import_verdicts
from annotation.studies.commands import ImportCommand
from annotation.studies.models import Study


class Command(ImportCommand):
    help = (
        "Import what models say of a study's items, from JSON lines (task: item's id, model, label "
        "or value; where there are several: question, option). Nothing is stored when anything is "
        "wrong."
    )
    rows = "verdicts"

    def store(self, study: Study, file: str) -> dict:
        return import_verdicts(study, file)

    def summary(self, result: dict) -> str:
        return (
            f"{result['verdicts']:,} verdicts ({result['new']:,} new) on {result['items']:,} items "
            f"by {len(result['models']):,} models"
        )
