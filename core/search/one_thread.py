"""Libraries that compute with several threads are told to use one."""

from __future__ import annotations

import os


def prefer_one_thread() -> None:
    """To be called before such a library is loaded, unless the environment says otherwise.

    A process that has used OpenMP with several threads hangs in its forks, and on busy cores one thread is steadier.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
