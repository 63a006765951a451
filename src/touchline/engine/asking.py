"""What if nobody answers? Questions to the engine's database that who asks cannot afford to wait for.

A connection that was cut off without a word blocks whoever uses it, for as long as the network wants. One thread is put
at that risk; the others ask it, and go on without an answer when none comes in time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any

ANSWER_SECONDS = 2.0


class Asking:
    """The thread that asks, begun with the first question. It ends with the process, or by `close`."""

    def __init__(self) -> None:
        self._questions: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ask(self, question: Callable[[], Any], otherwise: Any, seconds: float = ANSWER_SECONDS) -> Any:
        """The answer; or `otherwise`, when there is none in time or asking failed."""
        with self._lock:
            if self._thread is None:
                # A daemon: the end of the process does not wait for it.
                self._thread = threading.Thread(target=self._run, name="touchline-asking", daemon=True)
                self._thread.start()
        answer: Future[Any] = Future()
        self._questions.put((question, answer))
        try:
            return answer.result(seconds)
        except (Exception, CancelledError):
            answer.cancel()  # nobody waits for it any more
            return otherwise

    def close(self) -> None:
        self._questions.put(None)

    def _run(self) -> None:
        while (asked := self._questions.get()) is not None:
            question, answer = asked
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(question())
            except BaseException as error:
                answer.set_exception(error)
