from csp.decorators import csp_update
from django.urls import URLPattern, include, path
from django.views import View
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotation.api import (
    curation,
    evaluations,
    generation,
    histories,
    imports,
    judging,
    owner_queries,
    releases,
    rows,
    studies,
)

# Swagger UI draws its signs from data: addresses; the style block of its page is named by digest.
relaxed = csp_update(
    {
        "img-src": ["data:"],
        "style-src": ["'sha256-MMpT0iDxyjALd9PdfepImGX3DBfJPXZ4IlDWdPAgtn0='"],
    }
)

docs = relaxed(SpectacularSwaggerSplitView.as_view(url_name="api-schema"))
# A page like any other: REST framework opens its views to the middleware that closes pages.
docs.login_required = True  # type: ignore[attr-defined]  # read by LoginRequiredMiddleware

OF_STUDY = [
    ("", studies.OneStudy, "api-study"),
    ("tasks/", studies.Tasks, "api-tasks"),
    ("tasks/<slug:task>/early-stop/", curation.EarlyStopOfTask, "api-early-stop"),
    ("clone/", studies.Clones, "api-clone"),
    ("members/", studies.Members, "api-members"),
    ("survey/", studies.StudySurvey, "api-survey"),
    ("invitations/", studies.Invitations, "api-invitations"),
    ("invitations/<int:pk>/", studies.OneInvitation, "api-invitation"),
    ("removals/", studies.Removals, "api-removals"),
    ("batches/", studies.Batches, "api-batches"),
    ("batches/<int:batch>/close/", studies.CloseBatch, "api-batch-close"),
    ("batches/<int:batch>/reopen/", studies.ReopenBatch, "api-batch-reopen"),
    ("provenances/", imports.Provenances, "api-provenances"),
    ("imports/", imports.Imports, "api-imports"),
    ("imports/<uuid:pk>/", imports.Import, "api-import"),
    ("imports/<uuid:pk>/start/", imports.StartImport, "api-import-start"),
    ("generation/", generation.Generation, "api-generation"),
    ("generation/<int:run>/", generation.OneRun, "api-run"),
    ("generation/rules/", generation.GenerationRules, "api-generation-rules"),
    ("conversations/", curation.ConversationsOfStudy, "api-conversations"),
    ("conversations/histories/", curation.ConversationsOfMembers, "api-conversations-histories"),
    ("documents/", curation.Documents, "api-documents"),
    ("attributes/make/", curation.AttributesMade, "api-attributes-make"),
    ("attributes/verify/", curation.AttributesVerified, "api-attributes-verify"),
    ("personas/reviews/", curation.PersonaReviews, "api-persona-reviews"),
    ("personas/board/", curation.PersonaBoard, "api-persona-board"),
    ("personas/board/pairs/", curation.PersonaPairs, "api-persona-pairs"),
    ("personas/split/", curation.PersonaSplit, "api-persona-split"),
    ("checks/", curation.ChecksOfStudy, "api-checks"),
    ("retrieval/", curation.StudyRetrieval, "api-retrieval"),
    ("model-raters/", evaluations.ModelRaters, "api-model-raters"),
    ("estimates/", evaluations.Estimates, "api-estimates"),
    ("groups/", evaluations.Groups, "api-groups"),
    ("live/", evaluations.LiveComparison, "api-live"),
    ("draws/", evaluations.Draws, "api-draws"),
    ("prompts/", generation.Prompts, "api-prompts"),
    ("prompts/<slug:name>/", generation.OnePrompt, "api-prompt"),
    ("review/", generation.Review, "api-review"),
    ("review/undo/", generation.ReviewUndo, "api-review-undo"),
    ("own-queries/", owner_queries.OwnQueries, "api-own-queries"),
    ("own-queries/<slug:key>/", owner_queries.OwnQuery, "api-own-query"),
    ("own-queries/<slug:key>/gold/", owner_queries.OwnGold, "api-own-gold"),
    ("own-queries/<slug:key>/claims/", owner_queries.OwnClaims, "api-own-claims"),
    ("own-queries/<slug:key>/rubric/", owner_queries.OwnRubric, "api-own-rubric"),
    ("claim/", judging.ClaimSlot, "api-claim"),
    ("sets/", judging.Sets, "api-sets"),
    ("judgments/", judging.Judgments, "api-judgments"),
    ("releases/", releases.ReleasesOfStudy, "api-releases"),
]
OTHERS = [
    ("", judging.Root, "api-root"),
    ("studies/", studies.Studies, "api-studies"),
    ("slots/<uuid:pk>/judgment/", judging.SubmitJudgment, "api-judgment"),
    ("slots/<uuid:pk>/release/", judging.HandBackSlot, "api-release"),
    ("releases/<uuid:pk>/", releases.ReleaseDetail, "api-release-status"),
    ("releases/<uuid:pk>/download/", releases.ReleaseDownload, "api-release-download"),
    ("release-imports/", releases.ReleaseImports, "api-release-imports"),
    ("release-imports/<uuid:pk>/", releases.OneReleaseImport, "api-release-import"),
    ("releases/<uuid:pk>/evaluations/", evaluations.EvaluationsOfRelease, "api-evaluations"),
    ("evaluations/<uuid:pk>/", evaluations.EvaluationDetail, "api-evaluation"),
    ("histories/sessions/", histories.Sessions, "api-sessions"),
    ("histories/uses/", histories.Uses, "api-history-uses"),
    ("histories/", histories.Histories, "api-histories"),
    ("histories/<uuid:pk>/", histories.History, "api-history"),
]


def _paths(*rows: tuple[str, type[View], str]) -> list[URLPattern]:
    return [path(route, view.as_view(), name=name) for route, view, name in rows]


of_study = _paths(*OF_STUDY)
of_study += [
    path(f"{name}/", rows.RowsOfStudy.as_view(resource=name), name=f"api-{name}")
    for name in rows.RESOURCES
]
urlpatterns = [
    path("v1/", include(_paths(*OTHERS))),
    path("v1/studies/<slug:slug>/", include(of_study)),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
]
