"""Two web servers and two workers as on machines of their own, killed in turn under load.

`python -m benchmarks.machines --seconds 60` needs nginx (Debian's package). Each part has a data
folder of its own; PostgreSQL, Redis and an S3-compatible store (moto's) are shared. People judge
through nginx while one part after the other is killed with SIGKILL and started again; a release is
written by whichever worker is there and fetched through nginx. Ends with 1 where anything is lost.
"""

import argparse
import contextlib
import hashlib
import http.client
import itertools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from annotation.local import postgres, redis
from annotation.local.folders import private_folder
from annotation.local.model import free_port
from annotation.local.process import Program, kill_group, spawn, stop
from benchmarks import chaos
from benchmarks.folders import delete_folder
from benchmarks.seed import SLUG
from benchmarks.stack import REPOSITORY

PYTHON = sys.executable
BUCKET = "attune"
AWAY = 2  # seconds between a part's death and its next start
NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    upstream attune {{ {servers} }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://attune;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host 127.0.0.1:{port};
            proxy_next_upstream error timeout http_502 http_503 non_idempotent;
            proxy_next_upstream_tries 2;
        }}
    }}
}}
"""


class Machines:
    """The parts by name; `port` is nginx's."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self.port = free_port()
        self.store = f"http://127.0.0.1:{free_port()}"
        self.programs: dict[str, Program] = {}
        self.running: dict[str, subprocess.Popen] = {}
        self.cluster: postgres.Cluster | None = None
        self.shared: dict[str, str] = {}

    def start(self) -> None:
        """Start what is shared, prepare the database once, then the parts that are killed."""
        data = private_folder(self.folder / "shared")
        self.cluster = postgres.cluster(data)
        self._run(self.cluster.program())
        self._run(redis.program(data))
        host, port = self.store.removeprefix("http://").split(":")
        program = [PYTHON, "-c", STORE, host, port]
        self._run(Program("store", program, dict(os.environ), cwd=REPOSITORY))
        log = self.folder / "log"
        postgres.wait_ready(self.cluster, self.running["postgres"], log / "postgres.log")
        redis.wait_ready(data, self.running["redis"], log / "redis.log")
        self.shared = {
            "DATABASE_URL": self.cluster.url(),
            "REDIS_URL": redis.url(data),
            "ATTUNE_SECRET_KEY": secrets.token_hex(50),
            "ATTUNE_BASE_URL": f"http://127.0.0.1:{self.port}",
            "ATTUNE_ENDPOINTS": "[]",
            "ATTUNE_S3_BUCKET": BUCKET,
            "ATTUNE_S3_ENDPOINT": self.store,
            "ATTUNE_S3_REGION": "us-east-1",
            "ATTUNE_S3_ACCESS_KEY": "key",
            "ATTUNE_S3_SECRET_KEY": "secret",
            "DJANGO_SETTINGS_MODULE": "annotation.settings",
        }
        self._until(lambda: _answers(int(port), "/"))
        self.call("manage", "prepare", "--no-demo")
        ports = [free_port(), free_port()]
        for number, web in enumerate(ports, 1):
            self._web(f"web-{number}", web)
            self._celery(f"worker-{number}", ["worker", "--loglevel", "WARNING", "-c", "1"])
        self._celery("beat", ["beat", "--pidfile=", "--schedule", str(self.folder / "schedule")])
        self._nginx(ports)
        for web in (*ports, self.port):
            self._until(lambda web=web: _answers(web, "/health/live"))

    def environment(self, name: str) -> dict[str, str]:
        """What the part `name` sees: the shared addresses, and a data folder of its own."""
        data = private_folder(self.folder / name)
        return {**os.environ, **self.shared, "ATTUNE_DATA": str(data)}

    def _web(self, name: str, port: int) -> None:
        environment = self.environment(name)
        words = [PYTHON, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(words, cwd=REPOSITORY, env=environment, check=True)
        words = [PYTHON, "-m", "gunicorn", "-c", "annotation/local/gunicorn.conf.py"]
        words += ["--bind", f"127.0.0.1:{port}", "--workers", "1", "--access-logfile", "-"]
        self._run(Program(name, words, environment, cwd=REPOSITORY))

    def _celery(self, name: str, words: list[str]) -> None:
        words = [PYTHON, "-m", "celery", "-A", "annotation", *words]
        self._run(Program(name, words, self.environment(name), cwd=REPOSITORY))

    def _nginx(self, ports: list[int]) -> None:
        servers = " ".join(
            f"server 127.0.0.1:{port} max_fails=1 fail_timeout=2s;" for port in ports
        )
        path = self.folder / "nginx.conf"
        path.write_text(NGINX.format(folder=self.folder, servers=servers, port=self.port))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self._run(Program("nginx", [program, "-c", str(path)], dict(os.environ), cwd=self.folder))

    def _run(self, program: Program) -> None:
        log = private_folder(self.folder / "log") / f"{program.name}.log"
        self.programs[program.name] = program
        self.running[program.name] = spawn(program, log)

    def _until(self, good) -> None:
        deadline = time.monotonic() + 180
        while not good():
            assert time.monotonic() < deadline, f"a part does not answer: see {self.folder}/log"
            time.sleep(0.2)

    def call(self, *words: object) -> str:
        """Run `python -m WORDS` on a machine of its own and return what it prints."""
        command = [PYTHON, "-m", *map(str, words)]
        environment = self.environment("command")
        return subprocess.run(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, check=True, text=True
        ).stdout

    def connect(self) -> psycopg.Connection:
        """A connection of the application's role that commits every statement."""
        return psycopg.connect(self.shared["DATABASE_URL"], autocommit=True)

    def kill(self, name: str) -> None:
        """SIGKILL a part with its children, and start it again after a while."""
        process = self.running[name]
        process.kill()
        kill_group(process.pid)
        process.wait()
        time.sleep(AWAY)
        self._run(self.programs[name])

    def stop(self) -> None:
        """End everything, what holds data last."""
        for name in reversed(self.running):
            with contextlib.suppress(ProcessLookupError):
                stop(self.running[name], self.programs[name])


# Moto's server with an empty bucket.
STORE = f"""
import sys, threading, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(sys.argv[1], port=int(sys.argv[2]))
server.start()
client = boto3.client(
    "s3", endpoint_url="http://%s:%s" % tuple(sys.argv[1:]), region_name="us-east-1",
    aws_access_key_id="key", aws_secret_access_key="secret")
client.create_bucket(Bucket="{BUCKET}")
threading.Event().wait()
"""


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path, headers={"Host": "127.0.0.1"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def running() -> Iterator[Machines]:
    """The machines in a temporary folder; stopped and deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="attune-machines-"))
    machines = Machines(folder)
    try:
        machines.start()
        yield machines
    finally:
        machines.stop()
        if machines.cluster:
            delete_folder(machines.cluster.home)
        delete_folder(folder)


def released(machines: Machines, person: dict) -> bool:
    """Whether a release that a worker writes now is fetched whole through nginx."""
    with machines.connect() as database:
        database.execute(
            "UPDATE studies_membership SET role = 'researcher' FROM accounts_user u"
            " WHERE u.id = user_id AND u.email = %s", [person["email"]],
        )  # fmt: skip
    program = chaos.Program(machines.port, person)
    body = json.dumps({"layout": "long", "format": "csv"})
    path = f"/api/v1/studies/{SLUG}/releases/"
    _, answer = program.send("POST", path, body, program.headers)
    public = json.loads(answer)["id"]
    for _ in range(600):
        _, answer = program.send("GET", f"/api/v1/releases/{public}/", headers=program.headers)
        state = json.loads(answer)
        if state["status"] in ("done", "failed"):
            break
        time.sleep(0.5)
    path = f"/api/v1/releases/{public}/download/"
    first, second = (program.send("GET", path, headers=program.headers) for _ in range(2))
    same = hashlib.sha256(first[1]).digest() == hashlib.sha256(second[1]).digest()
    return state["status"] == "done" and first[0] == second[0] == 200 and same


def main(seconds: float, people: int = 8) -> int:
    """The whole run; prints its line and returns the exit status."""
    end = threading.Event()
    journal = chaos.Journal(Path(tempfile.mkdtemp(prefix="attune-acks-")) / "acknowledged.jsonl")
    with running() as machines:
        items = max(1_000, int(seconds * 60))
        words = ("--items", items, "--overlap", 3, "--people", people + 1, "--length", 300)
        *crowd, reader = json.loads(machines.call("benchmarks.seed", *words))["people"]
        annotators = chaos.annotators(machines, crowd, journal, end, seed=1)
        for annotator in annotators:
            annotator.start()
        kills, deadline = 0, time.monotonic() + seconds
        for name in itertools.cycle(("web-1", "worker-1", "web-2", "worker-2", "beat")):
            before = journal.count
            machines.kill(name)
            kills += 1
            patience = time.monotonic() + chaos.PATIENCE
            while journal.count == before and time.monotonic() < patience and not end.wait(0.2):
                pass
            if end.is_set() or time.monotonic() > deadline:
                break
        end.set()
        for annotator in annotators:
            annotator.join(2 * chaos.PATIENCE)
        wrong = chaos.compare(machines, journal.read())
        fetched = released(machines, reader)
    trouble = [annotator.trouble for annotator in annotators if annotator.trouble]
    print(*trouble, sep="\n", file=sys.stderr)
    counts = " ".join(f"{name}={number}" for name, number in wrong.items())
    release = "ok" if fetched else "WRONG"
    print(f"acknowledged={journal.count} kills={kills} {counts} release={release}")
    return 1 if any(wrong.values()) or trouble or not fetched or not journal.count else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    sys.exit(main(parser.parse_args().seconds))
