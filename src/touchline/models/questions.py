"""Which judgements does Touchline ask a model for? All of them, each with its answer."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from typing import ClassVar, Literal

from pydantic import Field

from touchline.models.question import Question, Reply

Text = str
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
Sure = Field(ge=0, le=1, description="How sure you are, from 0 to 1.")


class StopKind(Reply):
    """What a stop was."""

    kind: Literal["completion", "status", "question", "blocker", "error"]
    confidence: float = Sure
    missing: tuple[str, ...] = Field(description="What a completion still lacks; empty when nothing.")
    quote: str = Field(description="The words of the message that show the kind, verbatim.")


class ClassifyStop(Question[StopKind]):
    """What kind of stop is this? Asked only where the rules are unsure."""

    name: ClassVar = "classify_stop"
    reply: ClassVar = StopKind
    task: str
    message: str
    evidence: tuple[str, ...] = ()

    def refused(self, reply: StopKind) -> str:
        quote = " ".join(reply.quote.split())
        if not quote or quote not in " ".join(self.message.split()):
            return "The quote does not occur in the message. Quote it verbatim."
        return ""


class BudgetVerdict(Reply):
    """An architect's verdict."""

    verdict: Literal["approved", "needs_changes", "abandon"]
    guidance: str = Field(description="What to do differently; it reaches the agent on every verdict.")


class ReviewBudget(Question[BudgetVerdict]):
    """May this agent go on? The request is rendered by `supervision.review`."""

    name: ClassVar = "review_budget"
    reply: ClassVar = BudgetVerdict
    request: str
    again: str = ""
    """Why the last answer was not taken."""


class AgentAnswer(Reply):
    """An answer to an agent's question."""

    decision: Literal["answer", "pass_on", "abandon"]
    text: str = Field(description="The answer, or what the person must know to answer.")


class AnswerQuestion(Question[AgentAnswer]):
    """Can the architect answer this, or must a person?"""

    name: ClassVar = "answer_question"
    reply: ClassVar = AgentAnswer
    question: str
    task: str
    plan: str = ""
    conventions: str = ""

    def refused(self, reply: AgentAnswer) -> str:
        return "" if reply.text.strip() else "The text is empty."


class PlanVerdict(Reply):
    """What an architect says of a plan or of a change."""

    verdict: Literal["approved", "needs_changes"]
    guidance: str = ""
    findings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return "\n".join([self.guidance, *(f"- {each}" for each in self.findings)]).strip()


class ReviewPlan(Question[PlanVerdict]):
    """Is the plan good enough to be built?"""

    name: ClassVar = "review_plan"
    reply: ClassVar = PlanVerdict
    task: str
    plan: str
    specification: str = ""
    conventions: str = ""

    def refused(self, reply: PlanVerdict) -> str:
        return _needs_words(reply)


class ReviewCode(Question[PlanVerdict]):
    """Does the change do what the task asks, and nothing else?"""

    name: ClassVar = "review_code"
    reply: ClassVar = PlanVerdict
    task: str
    diff: str
    checks: str = ""
    specification: str = ""
    conventions: str = ""

    def refused(self, reply: PlanVerdict) -> str:
        return _needs_words(reply)


def _needs_words(reply: PlanVerdict) -> str:
    return "" if reply.verdict == "approved" or reply.words else "needs_changes without a word of what to change."


class RequirementDraft(Reply):
    """One requirement."""

    text: str
    priority: Literal["must", "should", "could"] = "must"
    acceptance: str
    source: str = ""


class FileDraft(Reply):
    """One file of the plan."""

    path: str = Field(description="Relative to the repository, with forward slashes.")
    purpose: str


class SpecDraft(Reply):
    """Requirements and architecture."""

    title: str
    objective: str
    success_criteria: tuple[str, ...]
    out_of_scope: tuple[str, ...] = ()
    requirements: tuple[RequirementDraft, ...]
    quality: tuple[str, ...] = ()
    new_files: tuple[FileDraft, ...] = ()
    modified_files: tuple[FileDraft, ...] = ()
    avoided_files: tuple[FileDraft, ...] = ()
    api: str = ""
    data_models: str = ""
    dependencies: tuple[str, ...] = ()
    validation: str = ""
    risks: tuple[str, ...] = ()


class WriteRequirements(Question[SpecDraft]):
    """What exactly is to be built?"""

    name: ClassVar = "write_requirements"
    reply: ClassVar = SpecDraft
    brief: str
    documents: str = ""
    codebase: str = ""
    conventions: str = ""
    gotchas: tuple[str, ...] = ()
    revision: str = ""
    """What a person wants changed, with the specification as it is now."""

    def refused(self, reply: SpecDraft) -> str:
        if not reply.requirements or not reply.success_criteria or not reply.objective.strip():
            return "Objective, success criteria and requirements must not be empty."
        return ""


class TaskDraft(Reply):
    """One task."""

    id: str = Field(description="T-001, T-002 and so on.")
    title: str
    phase: str
    action: Literal["CREATE", "UPDATE", "ADD", "DELETE", "VERIFY"]
    file: str
    requirements: tuple[str, ...]
    satisfies: tuple[str, ...] = Field(description="Ids of the requirements it fulfils.")
    command: str = Field(description="The command that proves it; exit code 0 is a pass.")
    expected: str = ""
    code_template: str = ""
    depends_on: tuple[str, ...] = ()


class TaskDrafts(Reply):
    """All tasks."""

    tasks: tuple[TaskDraft, ...]


class PlanTasks(Question[TaskDrafts]):
    """Which tasks, in which order, each with its check?"""

    name: ClassVar = "plan_tasks"
    reply: ClassVar = TaskDrafts
    objective: str
    requirements: tuple[str, ...]
    files: tuple[str, ...] = ()
    codebase: str = ""
    commands: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    revision: str = ""

    def refused(self, reply: TaskDrafts) -> str:
        ids = [task.id for task in reply.tasks]
        if not ids:
            return "There is no task."
        if len(set(ids)) < len(ids):
            return "An id is used twice."
        if odd := [id for id in ids if not _TASK_ID.fullmatch(id)]:
            return f"{odd[0]!r} is no id of a task: letters, digits, dots, dashes and underscores, such as T-001."
        unknown = sorted({name for task in reply.tasks for name in task.depends_on} - set(ids))
        if unknown:
            return f"depends_on names tasks that are not there: {', '.join(unknown)}."
        try:
            TopologicalSorter({task.id: task.depends_on for task in reply.tasks}).prepare()
        except CycleError as error:
            return f"These tasks wait for each other: {' -> '.join(error.args[1])}."
        return ""


class Divergence(Reply):
    """How what was done differs from what was planned."""

    kind: Literal["addition", "omission", "modification", "none"]
    worth: Literal["good", "bad", "neutral"]
    why: str
    confidence: float = Sure


class JudgeDivergence(Question[Divergence]):
    """Was it right to leave the plan?"""

    name: ClassVar = "judge_divergence"
    reply: ClassVar = Divergence
    planned: str
    actual: str


QUESTIONS: tuple[type[Question], ...] = (  # type: ignore[type-arg]
    ClassifyStop,
    ReviewBudget,
    AnswerQuestion,
    ReviewPlan,
    ReviewCode,
    WriteRequirements,
    PlanTasks,
    JudgeDivergence,
)
