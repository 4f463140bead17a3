"""Scenarios of questions: categories, their published share, 44 in all."""

import random

TAXONOMY = {
    "recommendation": (
        23.47,
        (
            *("Shopping Advice", "Hotel Recommendations", "Restaurant Recommendations"),
            *("Social Activity Suggestions", "Outfit Matching", "Investment Advice"),
            *("Hairstyle Suggestions", "Personalized Playlists", "Interior Design Advice"),
            *("Furniture Arrangement", "Sustainable Shopping"),
        ),
    ),
    "leisure": (20.79, ("Music", "Travel Tips", "Trip Planning", "Trending Rankings")),
    "learning": (
        19.02,
        (
            *("Knowledge Expansion", "Grammar Practice", "Exam Review", "Speaking Practice"),
            "Interview Preparation",
        ),
    ),
    "office": (
        18.79,
        (
            *("Schedule Management", "Document Editing", "Meeting Scheduling"),
            *("Project Management", "Email Writing", "Resume Optimization", "Material Selection"),
        ),
    ),
    "health": (
        10.53,
        (
            *("Nutrition Information Query", "Diet Planning", "Symptom Checker"),
            *("Medication Information", "Fitness Tracking", "Skincare", "Pet Health"),
        ),
    ),
    "growth": (
        4.24,
        ("Interpersonal Relationships", "Career Advice", "Listening", "Support", "Self Reflection"),
    ),
    "technical": (2.02, ("Code Debugging", "Code Optimization")),
    "finance": (1.10, ("Financial Analysis", "Budget Management", "Carbon Footprint Calculator")),
}
SCENARIOS = tuple(TAXONOMY)


def sample(draw: random.Random, size: int) -> list[str]:
    """``size`` different sub-scenarios, each category as often as its share in the paper.

    ``draw`` is a random.Random.
    """
    groups = draw.choices(SCENARIOS, [share for share, _names in TAXONOMY.values()], k=20 * size)
    drawn = (draw.choice(TAXONOMY[group][1]) for group in groups)
    return list(dict.fromkeys(drawn))[:size]
