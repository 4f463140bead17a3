"""A trained verifier decides on extracted statements, by page and command."""

import io

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.candidates import attributes, generate
from annotation.candidates.models import Extraction, Proposal, Run
from annotation.core import learned
from annotation.core.embed import embed
from annotation.core.errors import DomainError
from tests.candidates.conftest import model, script, write_all  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db
GOOD = ("Bakes rye bread every Sunday.", "Is learning Korean.")
BAD = ("Asked for a poem about trains.", "Wants a summary of a text.")
PAGE = "/studies/tea/generation/verifier/"


@pytest.fixture
def extracted(tea, cast):
    """Four statements of one call, none verified."""
    persona = cast.persona(tea)
    chat = tea.conversations.create(
        persona=persona, provider="wildchat", external_id="w1", speaker="ada", turns=1,
        messages=[{"role": "user", "text": "I bake."}], embedding=[1] + [0] * 255,
    )  # fmt: skip
    run = Run.objects.create(study=tea, step="attribute", endpoint="scripted")
    proposal = Proposal.objects.create(
        run=run, study=tea, step="attribute", persona=persona, number=1, status="done",
        input={"chats": [chat.pk], "language": "English"},
    )  # fmt: skip
    texts = [*GOOD, *BAD]
    Extraction.objects.bulk_create(
        Extraction(
            proposal=proposal, persona=persona, number=number, text=text, confidence=0.8,
            embedding=vector,
        )
        for number, (text, vector) in enumerate(zip(texts, embed(texts), strict=True), start=1)
    )  # fmt: skip
    return tea


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The file of a verifier that was fitted on these four statements."""
    texts = [*GOOD, *BAD]
    features = learned.attribute_features(embed(texts), texts, [0.8] * 4)
    fitted = learned.fit_logistic(features, np.array([0, 0, 1, 1]), ridge=1.0)
    path = tmp_path_factory.mktemp("model") / "verifier.npz"
    learned.save_model(path, fitted, {"kind": "verifier", "threshold": 0.0})
    return path


def verdicts():
    return dict(Extraction.objects.values_list("text", "verdict"))


def test_statements_that_the_verifier_finds_problematic_are_left_out(extracted, trained):
    counts = attributes.verify(extracted, *learned.load(trained, "verifier"))
    assert counts == {"statements": 4, "supported": 2, "flagged": 2}
    assert verdicts() == dict.fromkeys(GOOD, "supported") | dict.fromkeys(BAD, "unsupported")
    with pytest.raises(DomainError, match="nothing verified yet"):
        attributes.verify(extracted, *learned.load(trained, "verifier"))


def test_what_it_finds_problematic_can_be_left_to_a_model(extracted, trained, model, script):  # noqa: F811
    attributes.verify(extracted, *learned.load(trained, "verifier"), refine=True)
    assert verdicts() == dict.fromkeys(GOOD, "supported") | dict.fromkeys(BAD, "")
    checked = [
        {"number": 1, "verdict": "refine", "text": "Likes poems about trains."},
        {"number": 2, "verdict": "unsupported", "text": ""},
    ]
    script.values = [{"attributes": checked}]
    generate.request_proposals(extracted, "verify", {})
    write_all()
    assert verdicts() == dict.fromkeys(GOOD, "supported") | {
        BAD[0]: "refined", BAD[1]: "unsupported",
    }  # fmt: skip


def test_statements_of_a_rejected_call_and_of_other_studies_stay(extracted, trained, cast):
    Proposal.objects.update(review="rejected")
    for study in (extracted, cast.study("rain")):
        with pytest.raises(DomainError, match="nothing verified yet"):
            attributes.verify(study, *learned.load(trained, "verifier"))
    assert set(verdicts().values()) == {""}


def test_a_verifier_of_other_features_is_refused(extracted):
    other = learned.Linear(np.zeros(9), np.zeros(9), np.ones(9))
    fits = learned.Linear(np.zeros(258), np.zeros(258), np.ones(258))
    for fitted, card in ((other, {"threshold": 0.0}), (fits, {}), (fits, {"threshold": "x"})):
        with pytest.raises(DomainError, match="other features"):
            attributes.verify(extracted, fitted, card)
    assert set(verdicts().values()) == {""}


def test_the_page_takes_the_file_and_leads_to_the_clusters(extracted, trained, cast, login):
    client = login(cast.person("Carol"))
    assert "4 statements are" in client.get(PAGE).text
    sent = {"model": SimpleUploadedFile("v.npz", trained.read_bytes()), "flagged": "drop"}
    answer = client.post(PAGE, sent)
    assert (answer.status_code, answer["Location"]) == (302, "/studies/tea/generation/clusters/")
    assert "Statements that pass: 2 of 4; that do not: 2." in client.get(answer["Location"]).text
    assert "Let a model extract attributes" in client.get(PAGE).text
    step = client.get("/studies/tea/generation/verify/").text
    assert f'href="{PAGE}"' in step


def archive(**parts) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **parts)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"nothing of the kind",
        b"PK\x03\x04 broken",
        archive(weights=np.ones(3)),
        archive(
            weights=np.array([np.nan]), middle=np.zeros(1), scale=np.ones(1), intercept=np.array(0),
            card=np.frombuffer(b'{"kind": "verifier", "version": 1}', np.uint8),
        ),
        np.lib.format.magic(1, 0) + b"\x00" * 20,
    ],
)  # fmt: skip
def test_a_file_that_is_no_verifier_is_refused_with_a_sentence(extracted, cast, login, content):
    client = login(cast.person("Carol"))
    sent = {"model": SimpleUploadedFile("v.npz", content), "flagged": "drop"}
    answer = client.post(PAGE, sent)
    assert answer.status_code == 400
    page = answer.text
    assert "The file is no model that `train` made." in page
    assert set(verdicts().values()) == {""}
