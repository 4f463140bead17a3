from django.urls import path

from annotation.studies import arrive, manage, views

urlpatterns = [
    path("invitations/<str:key>/", arrive.invitation, name="invitation"),
    path("join/", arrive.join, name="join"),
    path("join/study/", arrive.join_study, name="join-study"),
    path("join/<str:code>/", arrive.join, name="join-link"),
    path("crowd/returned/", arrive.returned, name="returned"),
    path("crowd/<str:token>/", arrive.crowd_enter, name="crowd-enter"),
    path("studies/<slug:slug>/settings/", views.settings, name="settings"),
    path("studies/<slug:slug>/texts/<str:language>/", views.texts, name="texts"),
    path("studies/<slug:slug>/status/", views.status, name="status"),
    path("studies/<slug:slug>/messages/", views.messages_, name="messages"),
    path("studies/<slug:slug>/messages/read/", views.messages_read, name="messages-read"),
    path("studies/<slug:slug>/people/", manage.people, name="people"),
    path("studies/<slug:slug>/people/<int:pk>/", manage.member, name="member"),
    path("studies/<slug:slug>/invitations/<int:pk>/revoke/", manage.revoke, name="revoke"),
    path("studies/<slug:slug>/codes/", manage.code_make, name="code-make"),
    path("studies/<slug:slug>/codes/<int:pk>/revoke/", manage.code_revoke, name="code-revoke"),
    path("studies/<slug:slug>/crowd/", manage.crowd_, name="crowd"),
    path("studies/<slug:slug>/crowd/<int:pk>/close/", manage.crowd_close, name="crowd-close"),
]
