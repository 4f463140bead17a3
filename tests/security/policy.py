"""What every answer carries, errors included."""

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
}
# Swagger UI: its signs, and the one style block of its page.
DOCS = POLICY - {"img-src 'self'", "style-src 'self'"} | {
    "img-src 'self' data:",
    "style-src 'self' 'sha256-MMpT0iDxyjALd9PdfepImGX3DBfJPXZ4IlDWdPAgtn0='",
}


def check(response, policy=POLICY):
    parts = response.headers["Content-Security-Policy"].split(";")
    assert {part.strip() for part in parts if part.strip()} == policy
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response.headers["Permissions-Policy"]
    # Django's own never_cache (log-in pages) says the same in more words.
    assert "no-store" in response.headers["Cache-Control"]
