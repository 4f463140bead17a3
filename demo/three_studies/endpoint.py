"""The model server of `demo/three_studies.sh`: it answers every prompt of Attune from a script.

`python -m demo.three_studies.endpoint` prints its address and runs until stdin ends. What it says
is a function of the prompt, so a run can be repeated.
"""

import json
import re
import sys
import zlib

from tests.scripted_endpoint import ScriptedEndpoint, example_of, prompt_of

# Name, work, habit, food, travel, interests: six people with little in common.
PEOPLE = (
    ("Ada Brandt", "Bakes bread in a harbour town.", "walks by the river before work",
     "Rye bread and herring.", "Ferries along the coast.", "Sourdough, tides, lighthouses"),
    ("Jun Mori", "Night nurse in a children's clinic.", "keeps a paper diary of small meals",
     "Rice balls at three in the morning.", "Hot springs with his sister.", "Sleep, comics, ramen"),
    ("Lena Okafor", "Draws maps for a hiking club.", "collects timetables of dead railways",
     "Jollof rice, very hot.", "Long walks across borders.", "Cartography, trains, geology"),
    ("Rui Costa", "Tunes pianos in concert halls.", "repairs valve radios in the evening",
     "Grilled sardines on the roof.", "Old theatres of small towns.", "Fado, circuits, acoustics"),
    ("Mina Park", "Runs an apiary behind a school.", "swims in cold water on Sundays",
     "Buckwheat noodles with honey.", "Islands without cars.", "Insects, wild flowers, weather"),
    ("Tom Weaver", "Stenographer at a county court.", "sings bass in a parish choir",
     "Meat pies and pickles.", "Cathedral cities by bus.", "Shorthand, hymns, crosswords"),
)  # fmt: skip
# What a personal answer names, by its prompt: 35 in all, so that two arms hardly ever say the same,
# of which no item would be made.
HABITS_NAMED = ("walks", "meals", "evenings", "Sundays", "maps")
TIMES = ("morning", "noon", "afternoon", "evening", "night", "weekend", "holiday")
HABITS = tuple(person[2] for person in PEOPLE)
PLAIN = (
    "There are many good ways to go about this. Start small, compare two or three possibilities, "
    "and keep the one that is easiest to repeat every week. Write down what worked."
)
PERSONAL = (
    "With your week in mind, choose the quiet way that fits the {habit} you already have. Start "
    "with one small step on a free {time}, and keep only what still pleases you after a month."
)
# A word of an answer and what a rewrite puts in its place: the number of words stays.
BETTER = {"Start": "Begin", "small": "manageable", "good": "sensible", "keep": "retain"}
WORSE = {"quiet": "usual", "small": "general", "easiest": "average", "pleases": "occupies"}


# What a conversation shows, by the words that show it.
SHOWN = {
    "without meat": "Cooks without meat.",
    "two kids": "Lives with two small children.",
    "correct my Portuguese": "Learns Portuguese in the evening.",
    "Three lines are enough": "Prefers short answers.",
}


def number_of(text: str, among: int) -> int:
    """A number below ``among`` that follows from ``text``."""
    return zlib.crc32(text.encode()) % among


def answer(request: dict, number: int) -> str:
    """The completion of one request: JSON where a schema is asked for, text otherwise."""
    prompt = prompt_of(request)
    wanted = request.get("response_format", {}).get("json_schema", {}).get("schema")
    return json.dumps(structured(wanted, prompt, number)) if wanted else words(prompt)


def structured(schema: dict, prompt: str, number: int) -> dict:
    """A value of ``schema``: that of the step whose schema it is."""
    value, names = example_of(schema), set(schema["properties"])
    if "Demographics" in names:
        return value | persona(number)
    if names == {"numbers"}:
        return {"numbers": [1 + number_of(f"{prompt}{n}", 6) for n in range(3)]}
    if names == {"features"}:
        habit = HABITS[number_of(prompt, len(HABITS))]
        return {"features": [{"text": f"The person {habit}.", "evidence": [1]}]}
    if names == {"attributes"}:
        return {"attributes": extracted(prompt)}
    if "scenario" in names:
        place = re.search(r"Situations to choose one from:\n- (.+)", prompt).group(1)
        topic = ("the long weekend", "a rainy evening", "the next month")[number % 3]
        question = (
            f"What would make {topic} better for me when it comes to {place.lower()} ({number})?"
        )
        return {"scenario": place, "question": question}
    if "leaked" in names:
        return {"leaked": [], "rewrite": False, "question": prompt.rpartition("\n")[2]}
    # Judgments of questions: everything holds.
    return {name: True if value[name] is False else "It does." for name in names}


def extracted(prompt: str) -> list[dict]:
    """The statements of SHOWN that the numbered turns of ``prompt`` show, with their evidence."""
    turns = re.findall(r"^\[(\d+)\] user: (.+)$", prompt, re.M)
    return [
        {
            "text": statement,
            "confidence": 0.6 + number_of(statement, 4) / 10,
            "evidence": [{"turn": int(turn), "quote": words}],
        }
        for turn, text in turns
        for words, statement in SHOWN.items()
        if words in text
    ]


def persona(number: int) -> dict:
    """One of PEOPLE in the paper's schema; the seventh is the first one again."""
    name, work, habit, food, travel, interests = PEOPLE[number % len(PEOPLE)]
    return {
        "Name": name,
        "Demographics": {
            "Age": str(24 + 7 * number % 50),
            "Gender": ("female", "male")[number % 2],
            "Nationality": ("German", "Japanese", "Nigerian", "Portuguese")[number % 4],
            "Language": ["English"],
            "Career_Information": work,
        },
        "Preference": {
            "Local_Life": {
                "Food_Drinks": food,
                "Entertainment_Shopping": f"Shops that sell things for {interests.lower()}.",
                "Daily_Outings": f"Often {habit}.",
            },
            "Travel": {"Business_Trips": "None.", "Leisure_Travel": travel},
            "Social": f"Friends who share {interests.split(', ')[0].lower()}.",
            "Productivity": {"Study_Work": work, "Fitness": f"{name.split()[0]} {habit}."},
            "Content_Interests": interests.split(", "),
        },
    }


def words(prompt: str) -> str:
    """A completion in words."""
    if labels := re.search(r"\nLabels:\n((?:\".+\n)+)", prompt):
        offered = [json.loads(line.split(": ")[0]) for line in labels.group(1).splitlines()]
        return json.dumps({"label": offered[number_of(prompt, 4) == 0]})
    if rewrite := re.search(r"between <(improved|degraded)>", prompt):
        return rewritten(rewrite.group(1), prompt.rpartition("The answer:\n")[2])
    if "Split the response into atomic claims" in prompt:
        response = prompt.rpartition("The response:\n")[2]
        return "\n".join(part.strip() for part in re.split(r"(?<=\.)\s", response) if part.strip())
    if "Write a rubric" in prompt:
        return "Need Alignment: answers the question first.\nTone: calm, without flattery."
    if "infer which of their preferences" in prompt:
        return f"Likes short plans; {HABITS[number_of(prompt, len(HABITS))]}."
    about = "The person:" in prompt or "What is known of the person" in prompt
    kind = number_of(prompt, 5)
    if about:
        return PERSONAL.format(habit=HABITS_NAMED[kind], time=TIMES[number_of(prompt, 7)])
    return f"{PLAIN} Point {kind + 1} of the list matters most."


def rewritten(tag: str, text: str) -> str:
    """``text`` with some words replaced, in the tags that were asked for."""
    table = BETTER if tag == "improved" else WORSE
    changed = re.sub(r"\w+", lambda word: table.get(word.group(), word.group()), text)
    return f"<{tag}>{changed}</{tag}>"


if __name__ == "__main__":
    with ScriptedEndpoint(answer, model="scripted-1") as server:
        print(server.url, flush=True)
        sys.stdin.read()
