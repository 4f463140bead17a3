"""The trail of what people did."""

import json

from annotation.core import audit


def test_the_trail_is_narrowed_down_and_exported(tea, cast, ada):
    audit.record(cast.person("Bo"), "study.create", tea, title="=1+1")
    audit.record(None, "other.act", tea)
    address = "/operations/audit/"
    assert ada.get(address, {"action": "study.create"}).context["page"].paginator.count == 1
    csv = b"".join(ada.get(address, {"action": "study.create", "format": "csv"})).decode()
    assert csv.splitlines()[0] == "id,at,actor,action,target,target_id,details"
    assert len(csv.splitlines()) == 2
    lines = b"".join(ada.get(address, {"format": "jsonl"})).decode().splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["other.act", "study.create"]
    assert ada.get(address, {"actor": "x"}).status_code == 400
