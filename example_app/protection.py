"""What protects a page from other sites, and from text that pretends to be a script."""

from __future__ import annotations

import secrets

import flask

from flask_chat_memory.web.origin import refuse_cross_site

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'nonce-{nonce}' 'strict-dynamic'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)


def init_app(app: flask.Flask) -> None:
    """Refuse posts that another site makes, and send strict headers with every response."""
    # SameSite=Lax keeps the cookie from such a post, but a log in needs no cookie to do harm.
    app.before_request(refuse_cross_site)
    app.after_request(_add_headers)
    app.jinja_env.globals["csp_nonce"] = csp_nonce


def csp_nonce() -> str:
    """Return the nonce that the scripts of this response carry."""
    if "csp_nonce" not in flask.g:
        flask.g.csp_nonce = secrets.token_urlsafe(16)
    return str(flask.g.csp_nonce)


def _add_headers(response: flask.Response) -> flask.Response:
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY.format(nonce=csp_nonce())
    response.headers["X-Content-Type-Options"] = "nosniff"
    # Not "no-referrer": a browser would then hide from us that our own forms are ours.
    response.headers["Referrer-Policy"] = "same-origin"
    return response
