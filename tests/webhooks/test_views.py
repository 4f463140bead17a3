"""Webhooks in the browser."""

from tests.webhooks.conftest import send_all


def test_a_curator_adds_tests_and_removes_a_webhook_in_the_browser(cast, tea, login, receiver):
    page = login(cast.person("Carol"))
    body = {"url": f"{receiver.origin}/x", "events": ["release.ready"]}
    assert page.post("/studies/tea/webhooks/", body).status_code == 302
    hook = tea.webhooks.get()
    assert hook.secret in page.get("/studies/tea/webhooks/").content.decode()
    page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "test"})
    send_all()
    assert "delivered" in page.get("/studies/tea/webhooks/").content.decode()
    question = page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "remove"})
    assert f"Remove “{hook.url}”?" in question.content.decode()
    assert tea.webhooks.get() == hook, "nothing is removed before the answer"
    page.post(f"/studies/tea/webhooks/{hook.pk}/", {"action": "remove", "sure": "1"})
    assert not tea.webhooks.exists()
    refused = page.post("/studies/tea/webhooks/", {"url": "http://x", "events": ["x"]})
    assert refused.status_code == 400
