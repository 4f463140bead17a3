from django.urls import path

from annotation.studies import views

urlpatterns = [
    path("", views.home, name="home"),
    path("invitations/<str:key>/", views.invitation, name="invitation"),
    path("studies/new/", views.new, name="study-new"),
    path("studies/<slug:slug>/settings/", views.settings, name="settings"),
    path("studies/<slug:slug>/status/", views.status, name="status"),
    path("studies/<slug:slug>/consent/", views.consent, name="consent"),
    path("studies/<slug:slug>/people/", views.people, name="people"),
    path("studies/<slug:slug>/people/<int:pk>/", views.member, name="member"),
    path("studies/<slug:slug>/invitations/<int:pk>/revoke/", views.revoke, name="revoke"),
]
