"""What a script does to a file counts as an edit, also to a file that the agent wrote itself before."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

pytestmark = pytest.mark.timeout(120)

WRITES = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}
      - {write: "${workspace}/gen.py", content: "open('app.py', 'w').write('def add(a, b): return 1')\\n"}
      - {write: "${workspace}/fmt.py", content: "print('formatted')\\n"}
"""
TESTS = "  - calls: [{shell: python3 -m unittest -q}]\n"
BREAKS = "  - calls: [{shell: python3 gen.py}]\n"
CLAIMS = '  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."\n'


@pytest.mark.parametrize("agent", ["scripted", "timeless"])
def test_a_script_that_rewrites_a_tested_file_takes_the_proof_away(house: House, agent: str) -> None:
    story = house.run(WRITES + TESTS + BREAKS + CLAIMS + TESTS + CLAIMS, agent=agent)
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    assert story.decisions[0].evidence["last_edit"] == 4


@pytest.mark.parametrize("agent", ["scripted", "timeless"])
def test_so_it_does_in_a_later_turn(house: House, agent: str) -> None:
    status = '  - text: "add() is written. Next I will look at it once more."\n'
    story = house.run(WRITES + TESTS + status + BREAKS + CLAIMS + TESTS + CLAIMS, agent=agent)
    actions = ["continue:status", "continue:completion_rejected", "deliver:completed"]
    assert story.actions == actions, story.told()


@pytest.mark.parametrize("agent", ["scripted", "timeless"])
@pytest.mark.parametrize(
    "line",
    [
        "python3 gen.py && python3 -m unittest -q",
        "python3 -m unittest -q 2>&1 | tee report.xml",
        "python3 -m unittest -q && chmod +x app.py",
        "chmod +x app.py; python3 -m unittest -q; ls -la; cat app.py",
    ],
)
def test_what_a_check_or_a_change_of_mode_leaves_is_no_edit_after_it(house: House, agent: str, line: str) -> None:
    story = house.run(WRITES + f'  - calls: [{{shell: "{line}"}}]\n' + CLAIMS, agent=agent)
    assert story.actions == ["deliver:completed"], story.told()


def test_a_file_that_the_tests_themselves_write_is_no_edit(house: House) -> None:
    body = "    open('data.db', 'w').write('x')\\n"
    writing = "import unittest\\nclass T(unittest.TestCase):\\n  def test_it(self):\\n" + body
    test = f'      - {{write: "${{workspace}}/test_data.py", content: "{writing}"}}\n'
    data = '      - {write: "${workspace}/data.db", content: "old"}\n'
    story = house.run(WRITES + test + data + TESTS + CLAIMS.replace("1 test", "2 tests"))
    assert story.actions == ["deliver:completed"], story.told()
