from django.urls import path

from annotation.judging.annotator import judge_views, leaving
from annotation.judging.annotator import views as annotator_views
from annotation.judging.curator import (
    adjudication,
    check_views,
    preview_views,
    removal_views,
    sanction_views,
    study_views,
    task_views,
)
from annotation.judging.gold import views as gold_views
from annotation.judging.owner import views as owner_views
from annotation.studies import arrive
from annotation.studies import views as studies

urlpatterns = [
    path("studies/<slug:slug>/my-queries/<slug:key>/gold/", gold_views.page, name="gold"),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/gold/claims/",
        gold_views.split,
        name="gold-split",
    ),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/gold/rubric/",
        gold_views.rubric,
        name="gold-rubric",
    ),
    path("studies/<slug:slug>/steps/", owner_views.steps, name="owner-steps"),
    path("", annotator_views.home, name="home"),
    path("studies/new/", study_views.new, name="study-new"),
    path("studies/<slug:slug>/mine/", annotator_views.past, name="mine"),
    path("studies/<slug:slug>/mine/download/", annotator_views.download, name="mine-download"),
    path("studies/<slug:slug>/leave/", annotator_views.leave, name="leave"),
    path(
        "studies/<slug:slug>/consent/",
        studies.consent,
        {"withdraw": leaving.withdraw},
        name="consent",
    ),
    path(
        "studies/<slug:slug>/return/", arrive.give_back, {"release": leaving.let_go}, name="return"
    ),
    path("studies/<slug:slug>/judge/", judge_views.judge, name="judge"),
    path("studies/<slug:slug>/judge/skip/", judge_views.skip, name="skip"),
    path("studies/<slug:slug>/judge/draft/", judge_views.draft, name="draft"),
    path(
        "studies/<slug:slug>/judge/explained/<uuid:slot>/", judge_views.explained, name="explained"
    ),
    path("studies/<slug:slug>/judge/tour/", judge_views.tour, name="tour"),
    path(
        "studies/<slug:slug>/judge/sources/<uuid:slot>/", judge_views.sources, name="judge-sources"
    ),
    path("studies/<slug:slug>/judge/beside/<uuid:slot>/", judge_views.beside, name="beside"),
    path("studies/<slug:slug>/judged/<uuid:slot>/", judge_views.judged, name="judged"),
    path("studies/<slug:slug>/guideline/", judge_views.guideline, name="guideline"),
    path("studies/<slug:slug>/tasks/", task_views.tasks, name="tasks"),
    path("studies/<slug:slug>/checks/", check_views.overview, name="checks"),
    path("studies/<slug:slug>/checks/new/<uuid:pk>/", check_views.make, name="check-make"),
    path("studies/<slug:slug>/checks/<uuid:pk>/", check_views.change, name="check"),
    path("studies/<slug:slug>/checks/<uuid:pk>/retire/", check_views.retire, name="check-retire"),
    path("studies/<slug:slug>/adjudicate/", adjudication.overview, name="adjudicate"),
    path("studies/<slug:slug>/adjudicate/<uuid:pk>/", adjudication.item, name="adjudicate-item"),
    path("studies/<slug:slug>/raters/<int:user>/pause/", sanction_views.pause, name="rater-pause"),
    path(
        "studies/<slug:slug>/raters/<int:user>/resume/", sanction_views.resume, name="rater-resume"
    ),
    path(
        "studies/<slug:slug>/raters/<int:user>/exclude/",
        sanction_views.exclude,
        name="rater-exclude",
    ),
    path(
        "studies/<slug:slug>/raters/<int:user>/requalify/",
        sanction_views.requalify,
        name="rater-requalify",
    ),
    path("studies/<slug:slug>/raters/<int:user>/bonus/", sanction_views.bonus, name="rater-bonus"),
    path("studies/<slug:slug>/tasks/<slug:name>/preview/", preview_views.try_task, name="preview"),
    path("studies/<slug:slug>/remove/<slug:what>/<slug:key>/", removal_views.remove, name="remove"),
    path("studies/<slug:slug>/tasks/<slug:name>/open/", task_views.open_, name="open-batch"),
    path("studies/<slug:slug>/batches/<int:batch>/close/", task_views.close, name="close-batch"),
]
