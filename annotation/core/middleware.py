PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


def private_by_default(get_response):
    """Keep every answer out of caches, unless its view or WhiteNoise said otherwise."""

    def middleware(request):
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware
