"""What a URL of Redis may be."""

from __future__ import annotations

import collections.abc as cabc
import typing as t

import redis.connection

from ...errors import ConfigurationError

_CLUSTER = "+cluster"


def check_url(url: str, cluster: bool) -> None:
    """Refuse what is no URL of Redis, without quoting it: it may hold a password.

    :raises ConfigurationError: saying what is allowed.
    """
    found, is_cluster = plain_url(url, cluster)
    try:
        parsed = t.cast(t.Any, redis.connection).parse_url(found)
    except ValueError:
        raise ConfigurationError(
            "redis: url is no URL of Redis, as redis://localhost:6379/0, rediss:// with TLS, unix:// for a socket, "
            "redis+cluster:// or rediss+cluster:// for a cluster"
        ) from None
    if is_cluster and ("path" in parsed or parsed.get("db")):
        raise ConfigurationError("redis: a cluster has neither a socket file nor a database number")
    check_cluster(parsed)


def check_cluster(settings: cabc.Mapping[str, t.Any]) -> None:
    """Refuse to read where what was written just now may not have come to yet.

    :param settings: of a client, by the driver's names.
    :raises ConfigurationError: saying what is allowed.
    """
    if settings.get("read_from_replicas") or settings.get("load_balancing_strategy"):
        raise ConfigurationError("redis: a client of a cluster must read from primaries; replicas lag behind")


def plain_url(url: str | None, cluster: bool) -> tuple[str | None, bool]:
    """Return the URL as the driver reads it, and whether it is a cluster's."""
    scheme, separator, rest = (url or "").partition("://")
    if not scheme.endswith(_CLUSTER):
        return url, cluster
    return scheme.removesuffix(_CLUSTER) + separator + rest, True
