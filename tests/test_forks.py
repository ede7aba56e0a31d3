"""Over a fork: in which order locks are waited for."""

from __future__ import annotations

from flask_chat_memory.plugins.forks import rest_in_forks
from flask_chat_memory.testing.contracts.forks import Child
from flask_chat_memory.testing.contracts.forks import needs_fork


class Shared:
    """Is its own lock, and notes who was waited for."""

    def __init__(self, name: str, waited_for: list[str]) -> None:
        self.name = name
        self.waited_for = waited_for

    @property
    def lock(self) -> Shared:
        return self

    def acquire(self, *, timeout: float) -> bool:
        self.waited_for.append(self.name)
        return True

    def release(self) -> None: ...

    def after_fork(self) -> None: ...


@needs_fork
def test_what_others_use_rests_after_them() -> None:
    waited_for: list[str] = []
    shared = [Shared(name, waited_for) for name in ["inner", "outer"] * 5]
    for one in shared:
        rest_in_forks(one, inner=one.name == "inner")

    assert Child(lambda _say: None).wait() == 0

    assert waited_for == ["outer"] * 5 + ["inner"] * 5
