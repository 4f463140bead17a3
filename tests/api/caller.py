"""Calls of the API as a program makes them."""

import json

from annotation.accounts.models import ApiToken


class Caller:
    """A program with somebody's token."""

    def __init__(self, client, user, **limits):
        self.client = client
        _, self.key = ApiToken.issue(user, 1, **limits)

    def __call__(self, method, path, body=None, **headers):
        headers = {"Authorization": f"Bearer {self.key}", **headers}
        data = json.dumps(body or {})
        return self.client.generic(
            method, f"/api/v1/{path}", data, "application/json", headers=headers
        )

    def send(self, path, **fields):
        """POST a form: texts and files."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return self.client.post(f"/api/v1/{path}", fields, headers=headers)


def refusal(answer):
    return answer.status_code, answer.json()["code"]
