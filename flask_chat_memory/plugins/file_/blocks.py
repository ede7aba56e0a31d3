"""Reads lines of a file from any place in either direction, block by block."""

from __future__ import annotations

import collections.abc as cabc
import contextlib
import os

from ...disk import files as disk

BLOCK = 32 * 1024


class Blocks:
    """An open file. Its last block is read at once and kept, for it is wanted most."""

    def __init__(self, path: str, writing: bool = False) -> None:
        """Open the file; FileNotFoundError if there is none."""
        self._descriptor = os.open(path, (os.O_RDWR if writing else os.O_RDONLY) | os.O_CLOEXEC)
        try:
            self.size = os.fstat(self._descriptor).st_size
            self._start = max(0, self.size - BLOCK)
            self._last = disk.read(self._descriptor, self.size - self._start, self._start)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._descriptor)

    def read(self, start: int, end: int) -> bytes:
        if self._start <= start and end <= self._start + len(self._last):
            return self._last[start - self._start : end - self._start]
        return disk.read(self._descriptor, end - start, start)

    def write(self, data: bytes, end: int) -> None:
        """Put the data in the place of whatever follows ``end``; whole or not at all."""
        try:
            if self.size > end:
                os.ftruncate(self._descriptor, end)
            disk.write(self._descriptor, data, end)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise

    def newline_before(self, end: int) -> int:
        """Return where the last whole line before ``end`` ends."""
        while end > 0:
            start = max(0, end - BLOCK)
            found = self.read(start, end).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def backward(self, end: int, stop: int) -> cabc.Iterator[tuple[int, bytes]]:
        """Give the lines between two line starts, newest first, without their line breaks."""
        start = max(stop, end - BLOCK)
        block = self.read(start, end)
        high = len(block)
        while high > 0:
            low = block.rfind(b"\n", 0, high - 1) + 1
            if low == 0 and start > stop:
                # A line longer than a block is looked for in pieces that grow with it.
                wider = max(stop, start - max(BLOCK, high))
                block = self.read(wider, start) + block[:high]
                start, high = wider, len(block)
                continue
            yield start + low, block[low : high - 1]
            high = low

    def forward(self, start: int, end: int) -> cabc.Iterator[tuple[int, bytes]]:
        """Give the lines from a line start on, oldest first, without their line breaks."""
        pending = b""
        while start + len(pending) < end:
            read = start + len(pending)
            pending += self.read(read, min(end, read + max(BLOCK, len(pending))))
            done = 0
            while (found := pending.find(b"\n", done)) >= 0:
                yield start + done, pending[done:found]
                done = found + 1
            start += done
            pending = pending[done:]

    def lines_before(self, start: int, end: int, count: int) -> int:
        """Return where the ``count``-th line before ``end`` begins, or ``start`` if there are fewer."""
        skip = 1
        while end > start:
            # What lies in the last block need not be read again.
            low = max(start, self._start if end > self._start else end - BLOCK)
            block = self.read(low, end)
            place = len(block) - skip
            while (place := block.rfind(b"\n", 0, place)) >= 0:
                count -= 1
                if count == 0:
                    return low + place + 1
            end, skip = low, 0
        return start

    def tails(self, stop: int, end: int) -> cabc.Iterator[tuple[int, bytes]]:
        """Give ever longer parts before ``end``, each beginning with a line break or within a line."""
        length = BLOCK
        while True:
            start = max(stop, end - length)
            data = self.read(start, end)
            yield (start - 1, b"\n" + data) if start == stop else (start, data)
            if start == stop:
                return
            length *= 4
