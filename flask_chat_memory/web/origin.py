"""Refuses requests that another site makes in the visitor's name."""

from __future__ import annotations

from urllib.parse import urlsplit

import flask

from ..errors import RequestRefused

_OWN = ("same-origin", "none")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_PORTS = {"http": 80, "https": 443}


def refuse_cross_site() -> None:
    """Let a changing request pass only if it comes from a page of this site, or from no browser at all.

    :raises RequestRefused: 403.
    """
    request = flask.request
    if request.method not in _CHANGING:
        return
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        allowed = site in _OWN
    else:
        origin = request.headers.get("Origin")
        allowed = origin is None or _is_own(origin)
    if not allowed:
        raise RequestRefused(403, "The request came from another site.")


def _is_own(origin: str) -> bool:
    """Compare host and port; not the scheme, which a proxy that ends TLS changes."""
    try:
        parts, own = urlsplit(origin), urlsplit(f"//{flask.request.host}")
        port, own_port = parts.port, own.port
    except ValueError:
        return False
    # A port that is left out is the default of the scheme that the browser used, on both sides.
    default = _PORTS.get(parts.scheme)
    return bool(parts.hostname) and parts.hostname == own.hostname and (port or default) == (own_port or default)
