from django.urls import include, path

from annotation.judging import claims
from annotation.judging.annotator import judge_views, leaving
from annotation.judging.annotator import views as annotator_views
from annotation.judging.curator import (
    adjudication,
    checks,
    definition,
    removal,
    sanctions,
    task_views,
)
from annotation.studies import views as studies

of_study = [
    path("my-queries/<slug:key>/gold/", claims.page, name="gold"),
    path("my-queries/<slug:key>/gold/claims/", claims.split, name="gold-split"),
    path("my-queries/<slug:key>/gold/rubric/", claims.rubric, name="gold-rubric"),
    path("steps/", annotator_views.steps, name="owner-steps"),
    path("mine/", annotator_views.past, name="mine"),
    path("mine/download/", annotator_views.download, name="mine-download"),
    path("leave/", annotator_views.leave, name="leave"),
    path("consent/", studies.consent, {"withdraw": leaving.withdraw}, name="consent"),
    path("return/", studies.give_back, {"release": leaving.let_go}, name="return"),
    path("judge/", judge_views.judge, name="judge"),
    path("judge/sets/", judge_views.sets, name="sets"),
    path("judge/skip/", judge_views.skip, name="skip"),
    path("judge/draft/", judge_views.draft, name="draft"),
    path("judge/explained/<uuid:slot>/", judge_views.explained, name="explained"),
    path("judge/tour/", judge_views.tour, name="tour"),
    path("judge/sources/<uuid:slot>/", judge_views.sources, name="judge-sources"),
    path("judge/beside/<uuid:slot>/", judge_views.beside, name="beside"),
    path("judged/<uuid:slot>/", judge_views.judged, name="judged"),
    path("guideline/", judge_views.guideline, name="guideline"),
    path("tasks/", task_views.tasks, name="tasks"),
    path("tasks/preview/", task_views.try_form, name="preview-form"),
    path("checks/", checks.overview, name="checks"),
    path("checks/new/<uuid:pk>/", checks.make_page, name="check-make"),
    path("checks/<uuid:pk>/", checks.edit_page, name="check"),
    path("checks/<uuid:pk>/retire/", checks.retire_page, name="check-retire"),
    path("adjudicate/", adjudication.overview, name="adjudicate"),
    path("adjudicate/<uuid:pk>/", adjudication.item, name="adjudicate-item"),
    *[
        path(f"raters/<int:user>/{act}/", sanctions.act_on_rater, {"act": act}, name=f"rater-{act}")
        for act in sanctions.ACTS
    ],
    path("tasks/<slug:name>/preview/", task_views.try_task, name="preview"),
    path("remove/<slug:what>/<slug:key>/", removal.remove_page, name="remove"),
    path("tasks/<slug:name>/open/", task_views.open_, name="open-batch"),
    path("batches/<int:batch>/close/", task_views.close, name="close-batch"),
    path("batches/<int:batch>/reopen/", task_views.reopen, name="reopen-batch"),
]
urlpatterns = [
    path("studies/<slug:slug>/", include(of_study)),
    path("", annotator_views.home, name="home"),
    path("studies/", annotator_views.studies, name="studies"),
    path("studies/new/", definition.new, name="study-new"),
    path("studies/new/preview/", definition.try_new, name="study-try"),
    path("studies/<slug:slug>/clone/", definition.clone_page, name="clone"),
    path("studies/<slug:slug>/definition/", definition.download, name="definition"),
]
