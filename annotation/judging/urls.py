from django.urls import path

from annotation.judging import manage, views

urlpatterns = [
    path("studies/<slug:slug>/judge/", views.judge, name="judge"),
    path("studies/<slug:slug>/judge/skip/", views.skip, name="skip"),
    path("studies/<slug:slug>/judge/draft/", views.draft, name="draft"),
    path("studies/<slug:slug>/judged/<uuid:slot>/", views.judged, name="judged"),
    path("studies/<slug:slug>/guideline/", views.guideline, name="guideline"),
    path("studies/<slug:slug>/tasks/", manage.tasks, name="tasks"),
    path("studies/<slug:slug>/tasks/<slug:name>/open/", manage.open_, name="open-batch"),
    path("studies/<slug:slug>/batches/<int:batch>/close/", manage.close, name="close-batch"),
]
