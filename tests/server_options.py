"""Plugins on the servers of the environment, by the name of the server."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
import redis

from .redis_clients import cleaning
from .sql_servers import PLACES

SERVERS = ["redis", *PLACES]


def options_on(
    server: str, request: pytest.FixtureRequest, stack: contextlib.ExitStack
) -> tuple[str, dict[str, t.Any]]:
    """Return the id of a plugin and options that lead to a place of the test's own, which the stack removes."""
    if server in PLACES:
        return "sqlalchemy", {"url": stack.enter_context(PLACES[server]()).url}
    url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("key_prefix")
    stack.enter_context(cleaning(redis.Redis.from_url(url), prefix))
    return "redis", {"url": url, "key_prefix": prefix}
