"""The player says what the script says, wherever in the session it is asked."""

from __future__ import annotations

from touchline.rehearsal.play import play
from touchline.rehearsal.script import parse_script
from touchline.rehearsal.turns import Reply, Script, Told


def told(*words: str) -> list[Told]:
    """What the user said before each reply; a text that begins with > is a tool's result."""
    return [Told(results=each[1:]) if each.startswith(">") else Told(words=each) for each in words]


def texts(script: Script, *words: str) -> list[str]:
    """The replies of a whole session, each asked for with all that came before."""
    return [play(script, told(*words[: count + 1])).text for count in range(len(words))]


def test_turns_come_one_after_the_other_and_then_run_out() -> None:
    script = parse_script("turns: [{text: one}, {text: two}]", file="play.yaml")
    assert texts(script, "a", "b") == ["one", "two"]
    last = play(script, told("a", "b", "c"))
    assert last.ran_out
    assert last.fault is None
    assert last.text == ("The rehearsal script has no more turns: play.yaml, conversation 'main', asked for reply 3.")


def test_a_strict_script_that_runs_out_is_an_error() -> None:
    reply = play(parse_script("strict: true\nturns: [{text: one}]"), told("a", "b"))
    assert reply.fault is not None
    assert (reply.fault.status, reply.ran_out, reply.text) == (400, True, "")


def test_failures_are_played_as_often_as_they_should_and_then_passed() -> None:
    script = parse_script("turns: [{error: 529, times: 2}, {text: one}, {drop: true, text: half}, {text: two}]")

    def status(words: list[Told], failed: dict[int, int]) -> int | str:
        reply = play(script, words, failed=failed)
        return reply.fault.status if reply.fault else "cut" if reply.drop else reply.text

    assert [status(told("a"), {1: count}) for count in range(3)] == [529, 529, "one"]
    assert status(told("a", ">b"), {1: 2}) == "cut"
    assert status(told("a", ">b"), {1: 2, 3: 1}) == "two"
    # A server that was started anew knows no failures; the session's own replies show that they are over.
    assert status(told("a", ">b", "c"), {}) == "The rehearsal script has no more turns: script.yaml, conversation " + (
        "'main', asked for reply 3."
    )


def test_a_turn_may_be_played_several_times_or_until_something_is_heard() -> None:
    script = parse_script("turns: [{text: go, times: 2}, {text: loop, until: coach}, {text: done}]")
    assert texts(script, "a", "b", "c", "d", "the coach says", "e")[:5] == ["go", "go", "loop", "loop", "done"]
    assert texts(script, "a", "b", "coach") == ["go", "go", "done"]


def test_a_turn_may_wait_for_words_or_results_and_have_another_in_its_place() -> None:
    script = parse_script(
        """
        turns:
          - text: one
          - {heard: /evidence|proof/, text: proof, else: {text: what}}
          - {saw: passed, text: green}
          - text: end
        """
    )
    assert texts(script, "a", "give proof", ">3 passed", "b") == ["one", "proof", "green", "end"]
    assert texts(script, "a", "hello", ">1 failed") == ["one", "what", "end"]


def test_standing_answers_cost_no_turn() -> None:
    script = parse_script("answers: [{heard: token, text: 'DONE'}]\nturns: [{text: one}, {text: two}]")
    assert texts(script, "a", "the token?", "b", "the token?") == ["one", "DONE", "two", "DONE"]


def test_the_first_prompt_chooses_the_conversation() -> None:
    script = parse_script(
        """
        conversations:
          - {name: review, when: review, turns: [{text: looks good}]}
          - {name: build, when: '/task [12]/', turns: [{text: built}, {text: more}]}
        """
    )
    assert texts(script, "please review") == ["looks good"]
    assert texts(script, "do task 2", "review what you did") == ["built", "more"]
    nobody = play(script, told("task 3"))
    assert nobody.fault is not None
    assert "no conversation is for this first prompt; there are: review (review), build" in nobody.fault.message


def filled(script: str, *words: str, **given: str) -> Reply:
    return play(parse_script(script), told(*words), given=given)


def test_values_come_from_the_newest_words_that_have_them() -> None:
    script = "find: {marker: 'M-(\\d+)'}\nturns: [{text: a}, {text: '${marker} $${marker} ${HOME} ${number}'}]"
    assert filled(script, "M-1 and M-2", "go on").text == "2 ${marker} ${HOME} 1"
    assert filled(script, "M-1", "now M-3").text == "3 ${marker} ${HOME} 1"


def test_values_reach_every_part_of_a_turn() -> None:
    script = """
    find: {name: 'named (\\w+)'}
    turns:
      - text: ${heard}
        calls:
          - {write: '${workspace}/${name}.txt', content: '${prompt}'}
          - {raw: Task, args: {deep: ['${name}']}}
    """
    reply = filled(script, "a file named x", workspace="/w")
    write, raw = reply.calls
    assert (reply.text, write.target, write.content) == ("a file named x", "/w/x.txt", "a file named x")
    assert raw.args == {"deep": ["x"]}


def test_a_value_that_is_not_found_is_an_error_that_names_it_and_its_line() -> None:
    script = "find:\n  marker: 'M-(\\d+)'\nturns:\n  - text: '${marker}'\n"
    reply = filled(script, "no such thing")
    assert reply.fault is not None
    assert "script.yaml:4: ${marker} was not found" in reply.problem
    assert filled(script.replace("'M-(\\d+)'", "{pattern: x, else: y}"), "no").text == "y"
