from django.urls import path

from annotation.judging import (
    adjudicate,
    checkpages,
    desk,
    goldpages,
    leaving,
    manage,
    raters,
    views,
)
from annotation.studies import arrive
from annotation.studies import views as studies

urlpatterns = [
    path("studies/<slug:slug>/my-queries/<slug:key>/gold/", goldpages.page, name="gold"),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/gold/claims/",
        goldpages.split,
        name="gold-split",
    ),
    path(
        "studies/<slug:slug>/my-queries/<slug:key>/gold/rubric/",
        goldpages.rubric,
        name="gold-rubric",
    ),
    path("", desk.home, name="home"),
    path("studies/<slug:slug>/mine/", desk.past, name="mine"),
    path("studies/<slug:slug>/mine/download/", desk.download, name="mine-download"),
    path("studies/<slug:slug>/leave/", desk.leave, name="leave"),
    path(
        "studies/<slug:slug>/consent/",
        studies.consent,
        {"withdraw": leaving.withdraw},
        name="consent",
    ),
    path(
        "studies/<slug:slug>/return/", arrive.give_back, {"release": leaving.let_go}, name="return"
    ),
    path("studies/<slug:slug>/judge/", views.judge, name="judge"),
    path("studies/<slug:slug>/judge/skip/", views.skip, name="skip"),
    path("studies/<slug:slug>/judge/draft/", views.draft, name="draft"),
    path("studies/<slug:slug>/judge/explained/<uuid:slot>/", views.explained, name="explained"),
    path("studies/<slug:slug>/judge/tour/", views.tour, name="tour"),
    path("studies/<slug:slug>/judge/sources/<uuid:slot>/", views.sources, name="judge-sources"),
    path("studies/<slug:slug>/judge/beside/<uuid:slot>/", views.beside, name="beside"),
    path("studies/<slug:slug>/judged/<uuid:slot>/", views.judged, name="judged"),
    path("studies/<slug:slug>/guideline/", views.guideline, name="guideline"),
    path("studies/<slug:slug>/tasks/", manage.tasks, name="tasks"),
    path("studies/<slug:slug>/checks/", checkpages.overview, name="checks"),
    path("studies/<slug:slug>/checks/new/<uuid:pk>/", checkpages.make, name="check-make"),
    path("studies/<slug:slug>/checks/<uuid:pk>/", checkpages.change, name="check"),
    path("studies/<slug:slug>/checks/<uuid:pk>/retire/", checkpages.retire, name="check-retire"),
    path("studies/<slug:slug>/adjudicate/", adjudicate.overview, name="adjudicate"),
    path("studies/<slug:slug>/adjudicate/<uuid:pk>/", adjudicate.item, name="adjudicate-item"),
    path("studies/<slug:slug>/raters/<int:user>/pause/", raters.pause, name="rater-pause"),
    path("studies/<slug:slug>/raters/<int:user>/resume/", raters.resume, name="rater-resume"),
    path("studies/<slug:slug>/raters/<int:user>/exclude/", raters.exclude, name="rater-exclude"),
    path(
        "studies/<slug:slug>/raters/<int:user>/requalify/", raters.requalify, name="rater-requalify"
    ),
    path("studies/<slug:slug>/raters/<int:user>/bonus/", raters.bonus, name="rater-bonus"),
    path("studies/<slug:slug>/tasks/<slug:name>/open/", manage.open_, name="open-batch"),
    path("studies/<slug:slug>/batches/<int:batch>/close/", manage.close, name="close-batch"),
]
