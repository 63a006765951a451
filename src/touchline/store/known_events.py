"""Which events are there? Their names and payloads; ids of idea, spec, build, task and session stand beside them.

A line is `name: field field ...`. `!` marks a field that must be there; `:i`, `:n`, `:f`, `:l`, `:o` say integer,
number, flag, list or object; the rest is text. A changed payload gets a new version (`name@2:`) and a step in `upcast`.
"""

from __future__ import annotations

from touchline.store.event_types import EventType, Field, Kind, register

EVENTS = """
idea.created: title! phase
ideation.message: role! text! signals:o
ideation.phase_changed: before! after! why
ideation.completed: brief confidence:n

spec.generated: path! tasks_path tasks:i
spec.approved: by!
spec.revision_requested: by! text!

build.requested: by repository
build.primed: tasks:i
build.started: repository
build.completed: complete:i failed:i skipped:i seconds:n outcome
build.stopped: reason! detail
build.resume: by reason

task.started: attempt:i! worker
task.state: before! after!
task.completed: attempt:i commit seconds:n changed:l
task.failed: reason! detail attempt:i
task.retry: reason! detail attempt:i
task.skipped: reason!
task.blocked: reason! waits_for

session.asked: task! agent
session.started: agent! model repository workspace base_commit sandbox sandbox_why version
session.resumed: by message run:i
session.interrupted: number:i! beginnings:i! heard:i how
session.quiet: number:i! seconds:n!
session.waiting: question! number:i
session.stop_asked: by!
session.stopped: by! number:i
session.ended: status! reason! delivery detail turns:i tokens:i cost_usd:n cost_estimated:f seconds:n
check.run: number:i! command! how! exit_code:i verified:f! passed:i failed:i skipped:i collected:i seconds:n why

turn.started: number:i! agent kind text
turn.ended: number:i! ended! exit_code:i stop_kind detail stopped seconds:n cost_usd:n cost_estimated:f
agent.said: number:i! text!
agent.called: number:i! call! tool! args:o
agent.answered: number:i! call! failed:f! exit_code:i text
agent.spent: number:i! model input:i! output:i! cache_read:i cache_write:i cost_usd:n
agent.fault: number:i! kind! text! status:i fatal:f
reminder.sent: number:i! text! rule
decision.requested: subject! text! options:l
decision.made: action! reason! message evidence:o
coaching.sent: tier! text! rule
nudge.sent: text! number:i
review.requested: review! origin! text
review.completed: review! verdict! guidance

question.asked: question! kind! text! blocking:f
question.answered: question! answer! answer_source!
question.advised: question! answer! by
question.expired: question! answer answer_source
question.reminded: question! number:i

lock.granted: resource! holder! token:i! expires_at priority:i
lock.denied: resource! holder! held_by reason priority:i
lock.released: resource! holder! token:i reason waiters:l
lock.expired: resource! holder! token:i expires_at waiters:l
conflict.detected: resource requester owner kind members:l change_request text lines:l

alert.stuck_task: alert! severity! text! subject seconds:n
alert.deadlock: alert! severity! text! subject members:l
alert.build_failed: alert! severity! text! subject reason
alert.component_down: alert! severity! text! subject component
alert.budget: alert! severity! text! subject spent:n limit:n
work.assigned: worker! tasks:l reason

lesson.recorded: lesson! text! confidence:n why
lesson.reinforced: lesson! confidence:n why
lesson.weakened: lesson! confidence:n why
lesson.promoted: lesson! confidence:n path
lesson.superseded: lesson! superseded_by why
metric.recorded: name! value:n! unit scope:o

component.started: component! kind host pid:i
component.stopped: component! kind host pid:i reason
component.heartbeat: component! kind host pid:i detail:o
"""

_KINDS = {"i": Kind.INTEGER, "n": Kind.NUMBER, "f": Kind.FLAG, "l": Kind.LIST, "o": Kind.OBJECT, "": Kind.TEXT}


def load() -> None:
    """Make all of them known."""
    for line in filter(None, map(str.strip, EVENTS.splitlines())):
        register(parsed(line))


def parsed(line: str) -> EventType:
    """One line of the list."""
    head, _, words = line.partition(":")
    name, _, version = head.partition("@")
    return EventType(name=name, version=int(version or 1), fields=tuple(map(_field, words.split())))


def _field(word: str) -> Field:
    name, _, kind = word.removesuffix("!").partition(":")
    return Field(name=name, kind=_KINDS[kind], required=word.endswith("!"))
