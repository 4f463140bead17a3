from rest_framework import serializers

from annotation.judging.kinds import body
from annotation.judging.kinds.attribute.tables import AttributeVerdict


class AttributeBody(body.Body):
    verdict = serializers.ChoiceField(choices=AttributeVerdict.Verdict.values)
    cause = serializers.CharField(
        required=False,
        help_text="Needed unless accepted: `overgeneralised`, `missing-evidence`, `task-context`, "
        "`not-standalone` or `other`.",
    )
