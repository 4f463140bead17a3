"""The operator's pages, and what Prometheus fetches."""

import json

from annotation.core import audit, tasks


def test_the_trail_is_narrowed_down_and_exported(tea, cast, ada):
    audit.record(cast.person("Bo"), "study.create", tea, title="=1+1")
    audit.record(None, "other.act", tea)
    address = "/operations/audit/"
    assert ada.get(address, {"action": "study.create"}).context["page"].paginator.count == 1
    csv = b"".join(ada.get(address, {"action": "study.create", "format": "csv"})).decode()
    assert csv.splitlines()[0] == "id,at,actor,action,target,target_id,details"
    assert len(csv.splitlines()) == 2
    lines = b"".join(ada.get(address, {"format": "jsonl"})).decode().splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["other.act", "study.create"]
    assert ada.get(address, {"actor": "x"}).status_code == 400


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
