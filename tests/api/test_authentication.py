"""A token opens what its scopes and its study allow, and no more."""

from annotation.studies.models import Study
from tests.api.caller import Caller
from tests.api.conftest import PERSONAS


def test_a_token_keeps_within_its_scopes(cast, tea, client):
    reader = Caller(client, cast.person("Carol"), scopes=["read"])
    assert reader("GET", "studies/tea/personas/").status_code == 200
    refused = reader("POST", "studies/tea/personas/", {"rows": PERSONAS})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    judge = Caller(client, cast.person("Ann"), scopes=["judge"])
    assert judge("POST", "studies/tea/claim/").json().get("code") != "scope"
    assert judge("GET", "studies/").json()["code"] == "scope"


def test_a_token_of_one_study_opens_no_other(cast, tea, client):
    rain = cast.study("rain")
    cast.member("Carol", rain, "curator")
    limited = Caller(client, cast.person("Carol"), study=tea)
    assert limited("GET", "studies/tea/personas/").status_code == 200
    refused = limited("GET", "studies/rain/personas/")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    assert limited("POST", "studies/", {"slug": "new-one", "title": "New"}).status_code == 403
    assert not Study.objects.filter(slug="new-one").exists()


def test_a_slot_belongs_to_the_study_of_its_token(cast, tea, client):
    cast.open(tea, items=1)
    rain = cast.study("rain")
    ann = cast.member("Ann", rain, "annotator")
    slot = Caller(client, ann)("POST", "studies/tea/claim/").json()["slot"]
    of_rain = Caller(client, ann, study=rain)
    assert of_rain("POST", f"slots/{slot}/release/").json()["code"] == "scope"
    assert Caller(client, ann, study=tea)("POST", f"slots/{slot}/release/").status_code == 204
