"""What the browser meets: routes, template functions, the widget."""

from __future__ import annotations

import typing as t

import flask

from .routes import BLUEPRINT as BLUEPRINT
from .routes import make_blueprint
from .templating import add_template_functions

if t.TYPE_CHECKING:
    from ..settings import Settings


def register_web(app: flask.Flask, settings: Settings) -> None:
    """Add the template functions, and the routes unless the site wants none."""
    add_template_functions(app)
    if settings.url_prefix is not None:
        app.register_blueprint(make_blueprint(settings.url_prefix, settings.privacy is not None))
