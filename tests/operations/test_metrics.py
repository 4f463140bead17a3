"""Figures for a monitor that holds the key."""

from annotation.core import tasks


def test_metrics_are_for_whoever_holds_the_key(client, tea, settings):
    assert client.get("/metrics").status_code == 404
    settings.METRICS_KEY = "the key"
    assert client.get("/metrics").status_code == 404
    for wrong in ("", "Bearer ", "Bearer the ke", "Bearer the key2"):
        assert client.get("/metrics", headers={"Authorization": wrong}).status_code == 404
    tasks.beat()
    answer = client.get("/metrics", headers={"Authorization": "Bearer the key"})
    text = answer.content.decode()
    assert answer.status_code == 200
    assert 'attune_requests_total{method="GET",status="404",view="metrics"}' in text
    assert "attune_judgments 0.0" in text
    assert 'attune_heartbeat_age_seconds{part="worker"}' in text
    assert 'attune_disk_free_bytes{place="data"}' in text
