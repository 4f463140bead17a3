"""The files for servers name settings that exist, and limit and probe what they run."""

import re
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.http import HttpResponse

from annotation.local.supervisor import applications
from annotation.operations import metrics

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
MANIFESTS = yaml.safe_load((ROOT / "deploy/kubernetes/attune.yaml").read_text("utf-8"))["items"]
# Of the file itself, or of compose alone.
NOT_OURS = {"ATTUNE_DATABASE_HOST", "ATTUNE_IMAGE", "ATTUNE_TLS", "ATTUNE_PORT"}
NOT_OURS |= {"ATTUNE_HTTP_PORT", "ATTUNE_HTTPS_PORT"}


def read_by_attune() -> set[str]:
    """The variables that the code reads, with those whose names it puts together."""
    code = "".join(path.read_text("utf-8") for path in (ROOT / "annotation").rglob("*.py"))
    prefixes = {f"ATTUNE_OIDC_{name}" for name in ("CLIENT_ID", "SECRET", "URL")}
    prefixes |= {f"ATTUNE_S3_{name}" for name in ("ENDPOINT", "REGION", "ACCESS_KEY", "SECRET_KEY")}
    return prefixes | set(re.findall(r"ATTUNE_[A-Z0-9_]+[A-Z0-9]", code))


@pytest.mark.parametrize("file", ["docker-compose.yml", "deploy/kubernetes/attune.yaml"])
def test_every_variable_is_one_that_is_read(file):
    named = set(re.findall(r"ATTUNE_[A-Z0-9_]+[A-Z0-9]", (ROOT / file).read_text("utf-8")))
    assert named - NOT_OURS - read_by_attune() == set()


def test_every_service_of_compose_has_a_limit_and_time_to_stop():
    for name, service in COMPOSE["services"].items():
        assert service.get("mem_limit"), name
        if service.get("image") == "${ATTUNE_IMAGE:-attune}":
            assert service["read_only"] is True, name
            assert service["stop_grace_period"], name


def test_a_worker_may_end_its_tasks_for_half_a_minute_before_it_is_killed():
    soft = settings.CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT
    services = COMPOSE["services"]
    graces = {name: services[name] for name in ("worker", "worker-two", "notices")}
    graces = {name: int(one["stop_grace_period"].rstrip("s")) for name, one in graces.items()}
    for name in graces:
        assert services[name]["environment"]["REMAP_SIGTERM"] == "SIGQUIT", name
    for _, pod, container in containers():
        if container["name"] in ("worker", "notices"):
            graces[f"pod {container['name']}"] = pod["terminationGracePeriodSeconds"]
    graces["laptop"] = applications(8000)[1].stop_seconds
    assert soft == 30
    assert len(graces) == 6
    assert {name: grace for name, grace in graces.items() if grace < soft + 10} == {}


def test_the_second_web_server_and_worker_are_as_the_first():
    services = COMPOSE["services"]
    for name in ("web", "worker"):
        second = services[f"{name}-two"]
        assert {**second, "ports": 0, "profiles": 0} == {
            **services[name],
            "ports": 0,
            "profiles": 0,
        }
        assert second["profiles"] == ["two"]
    assert services["web-two"]["ports"] == []


@pytest.mark.django_db
@pytest.mark.parametrize("file", ["alerts.yml", "grafana.json"])
def test_dashboard_and_alerts_read_metrics_that_exist(file, rf):
    metrics.counted(lambda request: HttpResponse())(rf.get("/"))
    exported = set(re.findall(r"^# TYPE (\w+)", metrics.text().decode(), re.MULTILINE))
    words = (ROOT / "deploy/monitoring" / file).read_text("utf-8")
    named = set(re.findall(r"attune_\w+", words))
    assert {re.sub("_bucket$", "", name) for name in named} <= exported


def test_every_alert_has_a_line_in_the_runbook():
    rules = yaml.safe_load((ROOT / "deploy/monitoring/alerts.yml").read_text("utf-8"))
    names = [rule["alert"] for rule in rules["groups"][0]["rules"]]
    assert len(names) == 4
    guide = (ROOT / "docs/operators.md").read_text("utf-8")
    assert [name for name in names if f"| `{name}` |" not in guide] == []


def containers():
    for manifest in MANIFESTS:
        pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
        for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
            yield manifest, pod, container


def test_every_container_has_limits_and_rights_no_more_than_it_needs():
    seen = [container["name"] for _, _, container in containers()]
    assert seen == ["prepare", "static-files", "web", "worker", "notices", "beat"]
    for _, pod, container in containers():
        assert container["resources"]["limits"]["memory"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False


def test_what_runs_for_long_is_probed_and_passwords_come_from_the_secret():
    for manifest, _, container in containers():
        if manifest["kind"] == "Deployment" and container["name"] != "static-files":
            assert "livenessProbe" in container
        assert {"secretRef": {"name": "attune"}} in container["envFrom"]
    values = next(entry["data"] for entry in MANIFESTS if entry["kind"] == "ConfigMap")
    assert not [name for name in values if "KEY" in name or "SECRET" in name]
