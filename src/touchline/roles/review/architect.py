"""Who is the architect? The configured model, asked about a coder's budget, questions and unclear stops.

Importing this registers him under `NAME`; a session or a build asks for him by that name. He is never the coder: each
question to him is a conversation of its own, so whatever the model is, it is not the session whose work it judges.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchline.errors import ModelError
from touchline.models.asking import Asker
from touchline.models.opening import asker_for, model_line
from touchline.models.questions import AnswerQuestion, ClassifyStop, ReviewBudget
from touchline.sessions.consulting import ADVISERS, Advice, Inquiry
from touchline.sessions.reading import READERS, Reading, Unclear
from touchline.sessions.records import SessionRecord
from touchline.sessions.reviewing import REVIEWERS, Case, Opinion
from touchline.supervision.judge import Verdict
from touchline.supervision.stops import Kind

NAME = "architect"


def architect(session: SessionRecord, env: Mapping[str, str]) -> Asker:
    """The architect's model: the session's own choice, else the configured one. ModelError, with the line to add, when
    there is none."""
    return asker_for(model_line(env, session.asked.reviewer_model or ""), env=env)


def review_budget(case: Case) -> Opinion:
    """May this agent go on? Raises `ModelError`; the session is then delivered as it stands."""
    answer = architect(case.session, case.env).ask(ReviewBudget(request=case.request, again=case.again))
    return Opinion(
        verdict=answer.value.verdict,
        guidance=answer.value.guidance,
        by=answer.model,
        answers=(("review_budget", answer),),
    )


def answer_question(inquiry: Inquiry) -> Advice:
    """Answer an agent's question, pass it on, or abandon the task. Raises `ModelError`; a person is then asked."""
    answer = architect(inquiry.session, inquiry.env).ask(
        AnswerQuestion(
            question=inquiry.question,
            task=inquiry.session.asked.task,
            plan=inquiry.plan,
            conventions=inquiry.conventions,
        )
    )
    return Advice(
        decision=answer.value.decision,
        text=answer.value.text,
        by=answer.model,
        answers=(("answer_question", answer),),
    )


def read_stop(unclear: Unclear) -> Reading:
    """What kind of stop is it, where the rules are unsure? Raises `ModelError`; a person then sees it."""
    asker = architect(unclear.session, unclear.env)
    answer = asker.ask(
        ClassifyStop(task=unclear.question.task, message=unclear.question.text, evidence=unclear.evidence)
    )
    said, kind = answer.value, Kind(answer.value.kind)
    if kind is Kind.ERROR:
        wrong = ModelError(f"{answer.model} takes a turn that ended in order for an error.")
        wrong.answers = (("classify_stop", answer),)
        raise wrong
    if kind is Kind.COMPLETION and (said.missing or not unclear.proved):
        kind = Kind.STATUS  # no word of his makes up for a proof: the agent is asked for it
    verdict = Verdict(kind=kind, confidence=said.confidence, missing=said.missing, quote=said.quote)
    return Reading(verdict=verdict, answers=(("classify_stop", answer),))


def register() -> None:
    """Make him known to sessions of this process; again changes nothing."""
    REVIEWERS[NAME] = review_budget
    ADVISERS[NAME] = answer_question
    READERS[NAME] = read_stop


register()
