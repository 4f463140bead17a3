from django.urls import path

from annotation.accounts import views

urlpatterns = [
    path("accounts/email/", views.addresses, name="account_email"),
    path("accounts/2fa/totp/picture.svg", views.totp_picture, name="totp-picture"),
    path(
        "accounts/openid/<slug:provider_id>/login/",
        views.log_in,
        name="openid_connect_login",
    ),
    path(
        "accounts/openid/<slug:provider_id>/login/callback/",
        views.come_back,
        name="openid_connect_callback",
    ),
    path("language/", views.language, name="language"),
    path("reading/", views.reading, name="reading"),
    path("sessions/", views.sessions_page, name="sessions"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/revoke/", views.revoke_all, name="tokens-revoke"),
    path("tokens/<int:pk>/revoke/", views.revoke, name="token-revoke"),
]
