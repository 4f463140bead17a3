"""A study's own prompts, in versions."""

import pytest

from annotation.candidates import proposals, wording
from annotation.candidates.models import Proposal
from annotation.core.errors import DomainError
from tests.candidates.conftest import write_all
from tests.scripted_endpoint import prompt_of


def test_a_study_has_its_own_wording_in_versions(tea, mina, model, script):
    for bad, words in [
        ("", "from 1"),
        ("No place", "must name"),
        ("{question} {x}", "cannot name"),
    ]:
        with pytest.raises(DomainError, match=words):
            wording.save(tea, "general", "Judge.", bad)
    assert wording.save(tea, "general", "Judge.", "Q: {question}").id == "general/tea-1"
    assert wording.save(tea, "general", "Judge.", "Q: {question}").id == "general/tea-1"
    assert wording.save(tea, "general", "Judge it.", "Q: {question}").id == "general/tea-2"
    script.values = [{"subjective": True, "open_ended": True, "understandable": True}]
    proposals.request(tea, "general", {"texts": ["Where is {seed} pleasant in the rain?"]})
    write_all()
    assert Proposal.objects.get().template == "general/tea-2"
    assert prompt_of(model.requests[0]) == "Judge it.\nQ: Where is {seed} pleasant in the rain?"
