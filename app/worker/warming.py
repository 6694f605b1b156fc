"""What the first message would have to wait for, loaded while nobody waits."""

from __future__ import annotations

import gc
import threading

from core.llm.port import Model
from router.language import language_of


def warm_up(model: Model) -> None:
    """Load the model's client and the language table in a thread of their own; both are slow to import."""
    threading.Thread(target=_load, args=(model,), name="warming", daemon=True).start()


def _load(model: Model) -> None:
    model.get_ready()
    language_of("What shall we make?")
    # What is loaded now stays: the collector need not look through it again and again while a step waits.
    gc.collect()
    gc.freeze()
