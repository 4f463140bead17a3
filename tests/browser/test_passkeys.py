"""A passkey made and used with an authenticator inside Chromium."""

import pytest

from tests.conftest import Cast

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


def test_a_passkey_is_added_and_opens_the_account(page, live_server, cast, settings):
    settings.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = True
    bo, site = cast.person("Bo"), live_server.url.replace("127.0.0.1", "localhost")
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    page.goto(f"{site}/accounts/login/")
    page.fill("[name=login]", bo.email)
    page.fill("[name=password]", Cast.password)
    page.press("[name=password]", "Enter")
    page.goto(f"{site}/accounts/2fa/webauthn/add/")
    page.fill("[name=password]", Cast.password)
    page.press("[name=password]", "Enter")
    page.check("[name=passwordless]")
    page.click("#mfa_webauthn_add")
    page.wait_for_url("**/recovery-codes/**")
    page.context.clear_cookies()
    page.goto(f"{site}/accounts/login/")
    page.click("#passkey_login")
    page.wait_for_url(f"{site}/")
    assert page.get_by_text("Log out").count() == 1
