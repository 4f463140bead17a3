"""What a message is signed with, as the standard prints it."""

import base64
import hashlib
import hmac

from django.utils import timezone

from annotation.webhooks import deliver
from annotation.webhooks.signature import sign


def test_a_message_carries_a_signature_that_its_receiver_can_check(tea, hook, receiver):
    message = deliver.test(hook)
    deliver.send(message.pk)
    headers, body = receiver.requests[0]
    key = base64.b64decode(hook.secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == str(message.pk)
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60


def test_the_signature_equals_the_standards_published_example():
    """The example of the specification's reference libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
