"""The Kubernetes manifest under `podman kube play`: prepare, web, worker, notices and beat.

podman knows no jobs, services or ingresses: the job runs as a pod, and the web server's port is
the host's. PostgreSQL and Redis are those of docker-compose.yml.
"""

import subprocess
import urllib.request
from collections.abc import Callable

import yaml

from tests.containers.engine import ROOT, run

MANIFEST = ROOT / "deploy/kubernetes/attune.yaml"
PORT = 18010


def _pods() -> tuple[dict, dict, list[dict]]:
    """The configuration, the pod of the job, and those of the deployments; no store of files."""
    configuration, pods = {}, []
    for entry in yaml.safe_load(MANIFEST.read_text("utf-8"))["items"]:
        if entry["kind"] == "ConfigMap":
            data = {name: text for name, text in entry["data"].items() if "S3" not in name}
            data |= {"ATTUNE_BASE_URL": f"http://localhost:{PORT}", "ATTUNE_PROXY_COUNT": "0"}
            configuration = entry | {"data": data}
        elif entry["kind"] in {"Job", "Deployment"}:
            spec = entry["spec"]["template"]["spec"]
            for container in (*spec.get("initContainers", ()), *spec["containers"]):
                container["envFrom"] = [{"configMapRef": {"name": n}} for n in ("attune", "secret")]
                for port in container.get("ports", ()):
                    port["hostPort"] = PORT
            # podman would begin an init container anew each time that it has ended.
            spec["restartPolicy"] = "OnFailure"
            head = {"apiVersion": "v1", "kind": "Pod", "metadata": entry["metadata"]}
            pods.append(head | {"spec": spec})
    job, *deployments = pods
    return configuration, job, deployments


def play(settings: dict[str, str], network: str, wait: Callable) -> None:
    """Prepare the database of the network's PostgreSQL, then run all until they serve."""
    configuration, job, deployments = _pods()
    names = [pod["metadata"]["name"] for pod in (job, *deployments)]
    remove = ["pod", "rm", "--force", "--ignore", *names]
    run(*remove)  # what a killed run left
    run("tag", "attune", job["spec"]["containers"][0]["image"])
    secret = _secret(settings, "attune_owner", settings["POSTGRES_OWNER_PASSWORD"])
    try:
        _play(network, configuration, secret, job)
        name = "attune-prepare-prepare"
        wait(name, lambda: _state(name) == "exited 0", 300)
        secret = _secret(settings, "attune", settings["POSTGRES_PASSWORD"])
        for pod in deployments:
            _play(network, configuration, secret, pod)
        wait("the web server's pod", _serves, 300)
        for name in ("worker", "notices"):
            wait(f"the pod of {name}", lambda name=name: _alive(f"attune-{name}-{name}"), 180)
        assert _state("attune-beat-beat").startswith("running")
    finally:
        run(*remove)


def _secret(settings: dict[str, str], role: str, password: str) -> dict:
    """The secret, as a second configuration: versions of podman take secrets in different forms."""
    data = {
        "DATABASE_URL": f"postgresql://{role}:{password}@postgres:5432/attune",
        "REDIS_URL": f"redis://:{settings['REDIS_PASSWORD']}@redis:6379/0",
        "ATTUNE_SECRET_KEY": settings["ATTUNE_SECRET_KEY"],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "secret"}, "data": data}


def _play(network: str, *entries: dict) -> None:
    # Not in the clone, where podman would take the file `attune` for a folder of an image.
    run("kube", "play", "--network", network, "-", input=yaml.safe_dump_all(entries), cwd="/")


def _state(container: str) -> str:
    return run("inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", container)


def _alive(container: str) -> bool:
    """Whether the worker has given the sign that its probe looks for."""
    look = ["podman", "exec", container, "sh", "-c", "ls /data/run/worker-*"]
    return not subprocess.run(look, capture_output=True).returncode


def _serves() -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{PORT}/health/ready", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
