from django.urls import path

from annotation.studies import views

urlpatterns = [
    path("invitations/<str:key>/", views.invitation, name="invitation"),
    path("join/", views.join, name="join"),
    path("join/study/", views.join_study, name="join-study"),
    path("join/<str:code>/", views.join, name="join-link"),
    path("crowd/returned/", views.returned, name="returned"),
    path("crowd/<str:token>/", views.crowd_enter, name="crowd-enter"),
    path("studies/<slug:slug>/settings/", views.settings, name="settings"),
    path("studies/<slug:slug>/texts/<str:language>/", views.texts, name="texts"),
    path("studies/<slug:slug>/status/", views.status, name="status"),
    path("studies/<slug:slug>/survey/", views.survey, name="survey"),
    path("studies/<slug:slug>/survey/questions/", views.survey_questions, name="survey-questions"),
    path("studies/<slug:slug>/messages/", views.messages_, name="messages"),
    path("studies/<slug:slug>/messages/read/", views.messages_read, name="messages-read"),
    path("studies/<slug:slug>/people/", views.people, name="people"),
    path("studies/<slug:slug>/people/<int:pk>/", views.member, name="member"),
    path("studies/<slug:slug>/invitations/<int:pk>/revoke/", views.revoke, name="revoke"),
    path("studies/<slug:slug>/codes/", views.code_make, name="code-make"),
    path("studies/<slug:slug>/codes/<int:pk>/revoke/", views.code_revoke, name="code-revoke"),
    path("studies/<slug:slug>/crowd/", views.crowd_, name="crowd"),
    path("studies/<slug:slug>/crowd/<int:pk>/close/", views.crowd_close, name="crowd-close"),
]
