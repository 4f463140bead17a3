"""The form of webhooks: every event has words before its code."""

from annotation.webhooks.deliver import EVENTS
from annotation.webhooks.views import WORDS, WebhookForm


def test_every_event_has_words():
    assert WORDS.keys() == EVENTS.keys()
    choices = list(WebhookForm().fields["events"].choices)
    assert choices[-2] == ("release.ready", "a release is ready (release.ready)")
