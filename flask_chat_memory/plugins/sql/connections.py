"""The connections that operations borrow."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .dialect import Dialect


class Loan(t.NamedTuple):
    """A connection of the pool in the state that the plugin works with.

    :ivar state: what :meth:`Dialect.give_back` needs.
    """

    connection: t.Any
    cursor: t.Any
    state: object


class Connections:
    """Connections of an engine's pool.

    :param owned: the engine is nobody else's. Where the dialect allows, its connections then stay checked out, as many
        as the pool would keep: to check one out costs as much as half of a round trip.
    """

    def __init__(self, engine: sa.Engine, dialect: Dialect, owned: bool) -> None:
        self._engine = engine
        self._dialect = dialect
        self._keeps = owned and dialect.may_stay_checked_out
        self._kept: list[Loan] = []
        self._inherited: list[object] = []

    def take(self) -> Loan:
        try:
            return self._kept.pop()
        except IndexError:
            connection = self._engine.raw_connection()
            state = self._dialect.lend(connection)
            return Loan(connection, self._dialect.cursor(connection), state)

    def give_back(self, loan: Loan) -> None:
        if not loan.connection.is_valid:
            return
        # Of a pool with more than it keeps somebody may be waiting for one.
        if self._keeps and t.cast(sa.QueuePool, self._engine.pool).overflow() <= 0:
            self._kept.append(loan)
        else:
            self._return(loan)

    def take_living(self) -> Loan:
        """Return a connection that is tested or new; dead ones in the pool are replaced."""
        self._release()
        pool = self._engine.pool
        for _ in range(pool.checkedin() if isinstance(pool, sa.QueuePool) else 0):
            loan = self.take()
            if self._is_alive(loan.cursor):
                return loan
            loan.connection.invalidate()
        return self.take()

    def close(self) -> None:
        """Close those of an engine that is nobody else's."""
        self._keeps = False
        self._release()
        self._engine.dispose()

    def after_fork(self) -> None:
        """Forget the connections of the parent process, which goes on using them."""
        # Kept, for even closing a connection of the parent would disturb it.
        self._inherited += [self._engine.pool, *self._kept]
        self._kept = []
        self._engine.dispose(close=False)

    def _release(self) -> None:
        while self._kept:
            self._return(self._kept.pop())

    def _return(self, loan: Loan) -> None:
        self._dialect.give_back(loan.connection, loan.state)
        loan.connection.close()

    def _is_alive(self, cursor: t.Any) -> bool:
        try:
            cursor.execute("SELECT 1")
        except self._dialect.driver_error:
            return False
        return True
