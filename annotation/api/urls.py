from csp.decorators import csp_update
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotation.api import (
    curation,
    evaluations,
    generation,
    histories,
    imports,
    owner_queries,
    releases,
    rows,
    sources,
    studies,
    views,
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

of_study = [
    path("", views.OneStudy.as_view(), name="api-study"),
    path("tasks/", studies.Tasks.as_view(), name="api-tasks"),
    path(
        "tasks/<slug:task>/early-stop/", curation.EarlyStopOfTask.as_view(), name="api-early-stop"
    ),
    path("clone/", studies.Clones.as_view(), name="api-clone"),
    path("members/", studies.Members.as_view(), name="api-members"),
    path("survey/", studies.StudySurvey.as_view(), name="api-survey"),
    path("invitations/", studies.Invitations.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/", studies.OneInvitation.as_view(), name="api-invitation"),
    path("removals/", studies.Removals.as_view(), name="api-removals"),
    path("batches/", studies.Batches.as_view(), name="api-batches"),
    path("batches/<int:batch>/close/", studies.CloseBatch.as_view(), name="api-batch-close"),
    *(
        path(f"{name}/", rows.RowsOfStudy.as_view(resource=name), name=f"api-{name}")
        for name in rows.RESOURCES
    ),
    path("provenances/", imports.Provenances.as_view(), name="api-provenances"),
    path("imports/", imports.Imports.as_view(), name="api-imports"),
    path("imports/<uuid:pk>/", imports.Import.as_view(), name="api-import"),
    path("imports/<uuid:pk>/start/", imports.StartImport.as_view(), name="api-import-start"),
    path("generation/", generation.Generation.as_view(), name="api-generation"),
    path("generation/<int:run>/", generation.OneRun.as_view(), name="api-run"),
    path("generation/rules/", generation.GenerationRules.as_view(), name="api-generation-rules"),
    path("conversations/", curation.ConversationsOfStudy.as_view(), name="api-conversations"),
    path(
        "conversations/histories/",
        sources.ConversationsOfMembers.as_view(),
        name="api-conversations-histories",
    ),
    path("documents/", sources.Documents.as_view(), name="api-documents"),
    path("attributes/make/", curation.AttributesMade.as_view(), name="api-attributes-make"),
    path(
        "attributes/verify/",
        curation.AttributesVerified.as_view(),
        name="api-attributes-verify",
    ),
    path("personas/reviews/", curation.PersonaReviews.as_view(), name="api-persona-reviews"),
    path("personas/board/", curation.PersonaBoard.as_view(), name="api-persona-board"),
    path("personas/board/pairs/", curation.PersonaPairs.as_view(), name="api-persona-pairs"),
    path("personas/split/", curation.PersonaSplit.as_view(), name="api-persona-split"),
    path("checks/", curation.ChecksOfStudy.as_view(), name="api-checks"),
    path("retrieval/", sources.StudyRetrieval.as_view(), name="api-retrieval"),
    path("model-raters/", evaluations.ModelRaters.as_view(), name="api-model-raters"),
    path("estimates/", evaluations.Estimates.as_view(), name="api-estimates"),
    path("groups/", evaluations.Groups.as_view(), name="api-groups"),
    path("live/", evaluations.LiveComparison.as_view(), name="api-live"),
    path("draws/", evaluations.Draws.as_view(), name="api-draws"),
    path("prompts/", generation.Prompts.as_view(), name="api-prompts"),
    path("prompts/<slug:name>/", generation.OnePrompt.as_view(), name="api-prompt"),
    path("review/", generation.Review.as_view(), name="api-review"),
    path("review/undo/", generation.ReviewUndo.as_view(), name="api-review-undo"),
    path("own-queries/", owner_queries.OwnQueries.as_view(), name="api-own-queries"),
    path("own-queries/<slug:key>/", owner_queries.OwnQuery.as_view(), name="api-own-query"),
    path("own-queries/<slug:key>/gold/", owner_queries.OwnGold.as_view(), name="api-own-gold"),
    path(
        "own-queries/<slug:key>/claims/", owner_queries.OwnClaims.as_view(), name="api-own-claims"
    ),
    path(
        "own-queries/<slug:key>/rubric/", owner_queries.OwnRubric.as_view(), name="api-own-rubric"
    ),
    path("claim/", views.ClaimSlot.as_view(), name="api-claim"),
    path("judgments/", views.Judgments.as_view(), name="api-judgments"),
    path("releases/", releases.ReleasesOfStudy.as_view(), name="api-releases"),
]
urlpatterns = [
    path("v1/", views.Root.as_view(), name="api-root"),
    path("v1/studies/", views.Studies.as_view(), name="api-studies"),
    path("v1/studies/<slug:slug>/", include(of_study)),
    path("v1/slots/<uuid:pk>/judgment/", views.SubmitJudgment.as_view(), name="api-judgment"),
    path("v1/slots/<uuid:pk>/release/", views.HandBackSlot.as_view(), name="api-release"),
    path("v1/releases/<uuid:pk>/", releases.ReleaseDetail.as_view(), name="api-release-status"),
    path(
        "v1/releases/<uuid:pk>/download/",
        releases.ReleaseDownload.as_view(),
        name="api-release-download",
    ),
    path("v1/release-imports/", releases.ReleaseImports.as_view(), name="api-release-imports"),
    path(
        "v1/release-imports/<uuid:pk>/",
        releases.OneReleaseImport.as_view(),
        name="api-release-import",
    ),
    path(
        "v1/releases/<uuid:pk>/evaluations/",
        evaluations.EvaluationsOfRelease.as_view(),
        name="api-evaluations",
    ),
    path(
        "v1/evaluations/<uuid:pk>/", evaluations.EvaluationDetail.as_view(), name="api-evaluation"
    ),
    path("v1/histories/sessions/", histories.Sessions.as_view(), name="api-sessions"),
    path("v1/histories/uses/", histories.Uses.as_view(), name="api-history-uses"),
    path("v1/histories/", histories.Histories.as_view(), name="api-histories"),
    path("v1/histories/<uuid:pk>/", histories.History.as_view(), name="api-history"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
]
