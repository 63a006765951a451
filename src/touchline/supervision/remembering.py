"""What was worked out once is not worked out again: `functools.cache` and `lru_cache` without `functools`.

Python's own wrapper is written in C; what `functools` adds around it loads three modules more, and a stop in an agent's
hook waits for each.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cache, lru_cache
else:
    try:
        from _functools import _lru_cache_wrapper

        def lru_cache(*, maxsize):
            """Remember the latest `maxsize` results."""

            def remembering(work):
                made = _lru_cache_wrapper(work, maxsize, False, None)
                made.__wrapped__, made.__doc__, made.__name__ = work, work.__doc__, work.__name__
                return made

            return remembering

        cache = lru_cache(maxsize=None)
    except ImportError:  # private to CPython
        from functools import cache, lru_cache

__all__ = ["cache", "lru_cache"]
