"""Who can log in. A real site asks its database here."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import flask
from flask_login import LoginManager
from werkzeug.security import check_password_hash

HASHES: dict[str, str] = json.loads(pathlib.Path(__file__).with_name("accounts.json").read_bytes())
DEMO_PASSWORD = "paper-boat"
"""The password of every account in ``accounts.json``: this is a demonstration."""
ADMINISTRATORS = frozenset({"amber"})
"""Who may change the settings."""


@dataclasses.dataclass(frozen=True)
class User:
    """Somebody who is logged in."""

    name: str
    is_authenticated: t.ClassVar = True
    is_active: t.ClassVar = True
    is_anonymous: t.ClassVar = False

    @property
    def is_administrator(self) -> bool:
        return self.name in ADMINISTRATORS

    def get_id(self) -> str:
        return self.name


def init_app(app: flask.Flask) -> None:
    """Set Flask-Login up."""
    login_manager = LoginManager(app)
    login_manager.user_loader(find_user)


def find_user(name: str) -> User | None:
    """Return the user of a name, if there is one."""
    return User(name) if name in HASHES else None


def check_password(name: str, password: str) -> User | None:
    """Return the user if the password is right."""
    # A name that does not exist takes as long as one that does, so that time tells nothing.
    is_right = check_password_hash(HASHES.get(name, next(iter(HASHES.values()))), password)
    return find_user(name) if is_right else None
