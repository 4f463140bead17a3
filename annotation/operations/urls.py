from django.urls import path

from annotation.operations import views

urlpatterns = [
    path("metrics", views.scrape, name="metrics"),
    path("held/", views.held_of_you, name="held"),
    path("held/export/", views.export, name="held-export"),
    path("operations/", views.overview, name="operations"),
    path("operations/mail/", views.mail_test, name="operations-mail"),
    path("operations/jobs/<str:kind>/<str:pk>/", views.job, name="operations-job"),
    path("operations/accounts/", views.accounts, name="operations-accounts"),
    path("operations/accounts/<int:pk>/", views.account, name="operations-account"),
    path("operations/audit/", views.trail, name="operations-audit"),
]
