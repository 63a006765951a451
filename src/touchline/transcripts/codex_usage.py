"""What did Codex spend?

Codex counts over the whole thread and counts cached tokens as input; a turn needs its own share.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchline.supervision.facts import Usage
from touchline.transcripts.gathering import NO_USAGE, less
from touchline.transcripts.shapes import count, identifier, mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def usage_of(value: Any) -> Usage:
    """Tokens with the cached ones taken out of the input."""
    usage = mapping(value)
    read, written = count(usage.get("cached_input_tokens")), count(usage.get("cache_write_input_tokens"))
    return Usage(
        input=max(0, count(usage.get("input_tokens")) - read - written),
        output=count(usage.get("output_tokens")),
        cache_read=read,
        cache_write=written,
    )


class ThreadUsage:
    """Turns the thread's running total into what each response added.

    Newer logs note every response by itself (`own`); once they do, the totals are left alone, because after a kill
    the two no longer agree.
    """

    def __init__(self) -> None:
        self._total: Usage | None = None
        self._last_response: str | None = None
        self._by_response = False

    def own(self, record: Mapping[str, Any]) -> Usage:
        """The tokens of one response, which may be noted twice in a row."""
        self._by_response = True
        response = identifier(record.get("response_id"))
        if response is not None and response == self._last_response:
            return NO_USAGE
        self._last_response = response
        return usage_of(record.get("usage"))

    def added(self, total: Any, last: Any) -> Usage:
        """What came on top of the previous total.

        `last` is the response's own usage: it is taken where no total precedes (a resumed or forked thread does
        not begin at zero) and where the total has fallen (the thread was compacted).
        """
        if self._by_response:
            return NO_USAGE
        now, before = usage_of(total), self._total
        self._total = now
        if before is None or now.total < before.total:
            return usage_of(last) if mapping(last) else now
        return less(now, before)
