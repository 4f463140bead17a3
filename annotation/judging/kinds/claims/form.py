from rest_framework import serializers

from annotation.judging.kinds import body
from annotation.judging.kinds.claims.tables import ClaimVerdict


class ClaimBody(serializers.Serializer):
    verdict = serializers.ChoiceField(choices=ClaimVerdict.Verdict.values)
    text = serializers.CharField(required=False, help_text="The claim as edited.")


class ClaimsBody(body.Body):
    claims = serializers.DictField(
        child=ClaimBody(), help_text="{claim's id: verdict}, every claim."
    )
