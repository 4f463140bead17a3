"""Reads settings from the environment; what is wrong is one sentence that names the variable."""

from __future__ import annotations  # methods are named after the types they return

import builtins
import json
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}
REDIS_SCHEMES = ("redis", "rediss", "unix")


class Environment(environ.FileAwareEnv):
    """Variables, or the files that NAME_FILE names. Raises ImproperlyConfigured with a sentence."""

    def str(self, name: builtins.str, default: builtins.str = "") -> builtins.str:
        try:
            # Editors and secret stores end a file with a line end.
            return super().str(name, default).rstrip("\r\n") or default
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
            sentence = f"The file of {name}_FILE cannot be read: {reason}."
            raise ImproperlyConfigured(sentence) from error

    def int(
        self,
        name: builtins.str,
        default: builtins.int,
        *,
        low: builtins.int = 0,
        high: builtins.int = 2**31,
    ) -> builtins.int:
        """A whole number from ``low`` to ``high``."""
        text = self.str(name).strip()
        if not text:
            return default
        if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
            raise ImproperlyConfigured(f"{name} must be a number, not “{text[:40]}”.")
        if not low <= int(text) <= high:
            raise ImproperlyConfigured(f"{name} must be a number from {low} to {high}.")
        return int(text)

    def bool(self, name: builtins.str, default: builtins.bool) -> builtins.bool:
        """1, true, yes or on; 0, false, no or off."""
        text = self.str(name).strip().lower()
        if not text:
            return default
        if text not in TRUE | FALSE:
            raise ImproperlyConfigured(f"{name} must be 1 or 0, not “{text[:40]}”.")
        return text in TRUE

    def list(self, name: builtins.str, default: builtins.list | None = None) -> builtins.list:
        """Values between commas."""
        values = [value.strip() for value in self.str(name).split(",")]
        return [value for value in values if value] or (default or [])

    def objects(self, name: builtins.str) -> builtins.list[dict] | None:
        """A JSON list of objects; None where the variable is not set."""
        text = self.str(name).strip()
        if not text:
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ImproperlyConfigured(f"{name} is no JSON: {error}.") from error
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise ImproperlyConfigured(f"{name} must be a JSON list of objects.")
        return value

    def address(self, name: builtins.str, default: builtins.str) -> builtins.str:
        """An address that begins with http:// or https://, without a path's last stroke."""
        text = self.str(name, default).rstrip("/")
        try:
            parts = urlsplit(text)
            parts.port  # noqa: B018 - raises where it is no number
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is no address: {error}.") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            sentence = f"{name} must begin with http:// or https:// and name a host."
            raise ImproperlyConfigured(sentence)
        return text

    def redis(self, name: builtins.str) -> builtins.str:
        """An address of Redis, or an empty text."""
        text = self.str(name)
        try:
            scheme = urlsplit(text).scheme
            urlsplit(text).port  # noqa: B018
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is no address: {error}.") from error
        if text and scheme not in REDIS_SCHEMES:
            raise ImproperlyConfigured(f"{name} must begin with redis://, rediss:// or unix://.")
        return text
