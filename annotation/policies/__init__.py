"""Who may what: a module for each resource, asked by pages and API alike.

A policy is a pure function of how somebody stands to the study. What belongs to one person alone
(histories, tokens, own queries, slots in hand) needs none: it is fetched by its owner.
"""

from annotation.policies import (  # noqa: F401 - asked as policies.NAME
    batch,
    candidate,
    check,
    data_import,
    generation,
    installation,
    judgment,
    member,
    message,
    persona,
    query,
    rater,
    release,
    result,
    run,
    source,
    study,
    task,
    webhook,
)
