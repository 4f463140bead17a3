"""The people of `demo/three_studies.sh`, who plan, judge and write over the API.

`python demo/three_studies/people.py ACTION STUDY [MORE]` reads one token a line from stdin;
ATTUNE_URL names the server. What they choose follows from the texts and their order.
"""

import json
import os
import sys
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "client" / "src"))

from attune_client import Attune, AttuneError

CAUSES = ("overgeneralised", "missing-evidence", "task-context")
QUESTIONS = ("How do I keep herbs alive on my balcony?", "What shall I cook on a slow Sunday?")
PATIENCE = 60


def number_of(text: str, among: int) -> int:
    """A number below ``among`` that follows from ``text``."""
    return zlib.crc32(text.encode()) % among


# How many people prefer another answer to a question: none, one or two in turn, as they are met.
# Questions are drawn, and what follows from their texts alone could leave a tier without a pair.
DISSENTERS: dict[str, int] = {}


def selection(slot: dict, place: int) -> dict:
    """The personal answer; of two questions in three one or two people prefer another."""
    liked = sorted(slot["options"], key=lambda option: liking(option["text"]))
    dissent = DISSENTERS.setdefault(slot["query"], len(DISSENTERS) % 3) > place
    return {"choice": liked[0 if dissent else -1]["id"]}


def liking(text: str) -> tuple:
    """How much an answer is liked: for taking up the person's week, then by its words."""
    return "With your week" in text, "Begin" in text, "usual" not in text, text


def feedback(slot: dict, place: int) -> dict:
    """Scores from 2 to 5 with a sentence each."""
    return {
        "answers": {
            name: {
                option["id"]: {
                    "score": 2 + number_of(option["text"] + name, 4),
                    "text": f"{name}: it says enough, and not more.",
                }
                for option in slot["options"]
            }
            for name in slot["settings"]["criteria"]
        }
    }


def attribute(slot: dict, place: int) -> dict:
    """Two of three attributes hold; one person in three is strict."""
    kind = number_of(slot["attribute"], 3)
    if kind or place % 3:
        return {"verdict": "accepted"}
    return {"verdict": "rejected", "cause": CAUSES[place % 3]}


def relevance(slot: dict, place: int) -> dict:
    """Every second pair of attribute and prompt is relevant, most people agree."""
    bears = number_of(slot["attribute"] + slot["query"], 2) == 0
    return {"relevant": "yes" if bears != (place == 2) else "no"}


def preference(slot: dict, place: int) -> dict:
    """The side of the answer that was written for the person, or the middle."""
    if place == 2:
        return {"value": 3}
    return {"value": 2 if "With your week" in slot["options"][0]["text"] else 4}


def claims(slot: dict, place: int) -> dict:
    """Every claim but the last is kept."""
    ids = [str(claim["id"]) for claim in slot["claims"]]
    verdicts = dict.fromkeys(ids, "keep")
    return {"claims": verdicts | ({ids[-1]: "drop"} if len(ids) > 1 else {})}


KINDS = {
    form.__name__: form for form in (selection, feedback, attribute, relevance, preference, claims)
}


def generate(people: list[Attune], study: str, step: str, options: str = "{}") -> None:
    """The curator asks for a step's proposals or for answers, waits, and accepts the unflagged."""
    (curator,) = people
    path, body = f"studies/{study}/", {"step": step, "options": json.loads(options)}
    planned = curator.call("POST", f"{path}generation/", body | {"dry_run": True})
    run = curator.call("POST", f"{path}generation/", body)
    run = wait(lambda: ended(curator, f"{path}generation/{run['id']}/"), "results")
    if run["failed"]:
        sys.exit(f"{step}: {run['failures']}")
    waiting = curator.call("GET", f"{path}review/?kind={step}")["rows"]
    good = [row["id"] for row in waiting if not row["flags"]]
    if good:
        curator.call("POST", f"{path}review/", {"kind": step, "ids": good, "accepts": True})
    print(f"{study}: {step}: {planned['calls']} calls, {run['done']} done, {len(good)} accepted")


def ended(curator: Attune, path: str) -> dict | None:
    """The run once nothing of it is to come."""
    run = curator.call("GET", path)
    return None if run["requested"] + run["running"] else run


def begin(people: list[Attune], study: str, task: str) -> None:
    """The curator opens a batch of a task."""
    batch = people[0].call("POST", f"studies/{study}/batches/", {"task": task})
    print(f"{study}: {batch['items']} items of {task} are open")


def search(people: list[Attune], study: str, settings: str) -> None:
    """The curator sets where answers are searched, and which strategies are asked for."""
    people[0].call("PUT", f"studies/{study}/retrieval/", json.loads(settings))


def judge(people: list[Attune], study: str) -> None:
    """Everybody judges until nothing is left for them."""
    count = 0
    for place, person in enumerate(people):
        while slot := person.call("POST", f"studies/{study}/claim/"):
            body = KINDS[slot["kind"]](slot, place) | {"seconds": 20}
            person.call("POST", f"slots/{slot['slot']}/judgment/", body, key=str(slot["slot"]))
            count += 1
    print(f"{study}: {count} judgments")


def ask(people: list[Attune], study: str) -> None:
    """Owners keep their sessions, allow them to be sent and published, and write a query."""
    for place, person in enumerate(people):
        sessions = wait(lambda who=person: ready(who), "sessions looked through")
        ids = [row["id"] for row in sessions]
        person.call("POST", "histories/sessions/", {"state": "kept", "ids": ids})
        for purpose, endpoint in (("send_to_endpoint", "scripted"), ("publish", "")):
            use = {"study": study, "purpose": purpose, "endpoint": endpoint, "allowed": True}
            person.call("POST", "histories/uses/", use)
        for number, question in enumerate(QUESTIONS):
            body = {
                "text": question,
                "guide": {"want": "A short plan for a balcony to the north.", "form": "A list."},
                "grounds": ids[number : number + 1],
                "finish": True,
            }
            path = f"studies/{study}/own-queries/"
            person.call("POST", path, body, key=f"ask-{place}-{number}")
    print(f"{study}: {len(people)} owners asked {len(QUESTIONS)} questions each")


def ready(person: Attune) -> list[dict]:
    """The person's sessions, once there are some and all can be kept."""
    sessions = person.call("GET", "histories/sessions/")["results"]
    return sessions if all(row["marked"] for row in sessions) else []


def gold(people: list[Attune], study: str) -> None:
    """Owners save a gold response, have it split, decide on its claims, and get a rubric."""
    for person in people:
        for query in person.call("GET", f"studies/{study}/own-queries/")["queries"]:
            path = f"studies/{study}/own-queries/{query['id']}"
            text = "Mint and chives grow with two hours of sun. Water them twice a week. Enjoy it."
            person.call("POST", f"{path}/gold/", {"text": text})
            person.call("POST", f"{path}/claims/", {})
            person.call("POST", f"{path}/rubric/", {})
    for person in people:
        for query in person.call("GET", f"studies/{study}/own-queries/")["queries"]:
            path = f"studies/{study}/own-queries/{query['id']}"
            wait(lambda who=person, at=path: who.call("GET", f"{at}/claims/")["claims"], "claims")
            wait(lambda who=person, at=path: who.call("GET", f"{at}/rubric/")["text"], "a rubric")
    judge(people, study)


def wait(look, what: str):
    """What ``look`` returns once it is something; after PATIENCE seconds the run fails."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        if time.monotonic() > end:
            sys.exit(f"There were no {what} after {PATIENCE} s.")
        time.sleep(0.5)
    return seen


ACTIONS = {action.__name__: action for action in (generate, begin, search, judge, ask, gold)}

if __name__ == "__main__":
    action, study, *more = sys.argv[1:]
    callers = [Attune(os.environ["ATTUNE_URL"], token) for token in sys.stdin.read().split()]
    try:
        ACTIONS[action](callers, study, *more)
    except AttuneError as refusal:
        sys.exit(f"{action} {study}: {refusal}")
