"""What tests of sites and of plugins need; ``flask_chat_memory.testing.contracts`` besides needs pytest."""

from .clock import ManualClock as ManualClock
