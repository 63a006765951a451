"""Which files a program writes, by its text: on a command line, and in a script that the session wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.code_writes import CHARACTERS, UNNAMED, called_tests_in, writes_of
from touchline.supervision.commands import names_in, plan_of
from touchline.supervision.shell_writes import shell_changes


def paths(code: str, name: str = "python") -> list[str]:
    return [change.path for change in writes_of(name, code)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open('a.py', 'w').write('x')", ["a.py"]),
        ("with open('a.py', 'w') as f:\n    f.write('x')", ["a.py"]),
        ('open("a.py", "w", encoding="utf-8").write("x")', ["a.py"]),
        ("open('a.py', encoding='utf-8', mode='a')", ["a.py"]),
        ("open('a.bin', 'r+b')", ["a.bin"]),
        ("json.dump(told, open('package.json', 'w'), indent=2)", ["package.json"]),
        ("p = 'src/a.py'\ns = open(p).read()\nopen(p, 'w').write(s.replace('a', 'b'))", ["src/a.py"]),
        ("for p in ['a.py', 'b.py']:\n    open(p, 'w').write('')", ["a.py", "b.py"]),
        ("for p in glob('*.py'):\n    open(p, 'w').write('')", [UNNAMED]),
        ("open(sys.argv[1], 'w').write('')", [UNNAMED]),
        ("Path('a.py').write_text('x')", ["a.py"]),
        ("p = 'a.py'\npathlib.Path(p).write_bytes(b'x')", ["a.py"]),
        ("p = Path('a.py')\np.write_text(p.read_text().replace('a', 'b'))", ["a.py"]),
        ("(Path('src') / 'a.py').write_text('x')", [UNNAMED]),
        ("Path('src').joinpath('x', 'a.py').write_text('x')", [UNNAMED]),
        ("Path('a.py').open('w')", ["a.py"]),
        ("for line in fileinput.input('a.py', inplace=True):\n    print(line)", ["a.py"]),
        ("shutil.copy('new.py', 'a.py')", ["a.py"]),
        ("shutil.move('new.py', 'a.py')", ["new.py", "a.py"]),
        ("os.replace('new.py', 'a.py')", ["new.py", "a.py"]),
        ("os.remove('a.py')", ["a.py"]),
        ("Path('a.py').unlink()", ["a.py"]),
        ("fd, made = tempfile.mkstemp()\nos.write(fd, b'x')\nos.replace(made, 'a.py')", ["a.py"]),
    ],
)
def test_what_python_writes(code: str, found: list[str]) -> None:
    assert paths(code) == found


@pytest.mark.parametrize(
    "code",
    [
        "import app; print(app.f(2))",
        "print(open('a.py').read())",
        "open('a.py', 'r'); open('b.bin', 'rb')",
        "open('a.py', encoding='utf-8').read()",
        "json.dump(told, sys.stdout)",
        "print('a'.replace('b', 'c'))",
        "Image.open('x')",
        "name = input('name')",
        "for line in fileinput.input('a.py'):\n    print(line)",
        "open('run.log', 'w').write('x')",
        "open('build/made.txt', 'w').write('x')",
    ],
)
def test_what_only_reads_or_leaves_a_log_writes_nothing(code: str) -> None:
    assert paths(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "d = tempfile.mkdtemp()\np = os.path.join(d, 'x.py')\nopen(p, 'w').write('')\nprint(app.load(p))",
        "with tempfile.TemporaryDirectory() as d:\n    (Path(d) / 'x').write_text('')",
        "with tempfile.TemporaryDirectory() as d:\n    p = Path(d) / 'x'\n    p.write_text('')",
        "os.chdir(tempfile.mkdtemp())\nopen('a.py', 'w').write('')",
        "open(os.devnull, 'w')",
    ],
)
def test_a_place_that_the_program_asks_for_is_no_part_of_the_work(code: str) -> None:
    assert paths(code) == []


def test_a_path_from_the_root_is_told_so_that_the_workspace_can_be_compared() -> None:
    assert paths("open('/tmp/x.py', 'w')") == ["/tmp/x.py"]
    assert paths("base = '/tmp/w'\nopen(os.path.join(base, 'a.py'), 'w')") == ["/tmp/w/."]
    assert paths("os.chdir('/tmp/w')\nopen('a.py', 'w')") == ["/tmp/w/a.py"]


def test_a_variable_may_have_pointed_elsewhere_before() -> None:
    assert paths("p = tempfile.mkdtemp()\np = 'a.py'\nopen(p, 'w')") == ["a.py"]
    assert paths("p = tempfile.mkdtemp()\np = os.path.join(p, 'a.py')\nopen(p, 'w')") == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("tmp='/tmp/out.json'; open(tmp,'w')", ["/tmp/out.json"]),
        ("tmp = Path('/tmp/x')\ntmp.write_text('')", ["/tmp/x"]),
        ("db='/tmp/test.db'; os.remove(db)", ["/tmp/test.db"]),
        ("src = 'src/a.py'\nopen(src, 'w')", ["src/a.py"]),
        ("tmp = f'{tmp}/a.py'\nopen(tmp, 'w')", [UNNAMED]),
        ("f = NamedTemporaryFile(delete=False)\nname = f.name\nopen(name, 'w')", []),
        ("name = args.name\nopen(name, 'w')", [UNNAMED]),
    ],
)
def test_a_variable_is_not_made_of_itself_where_only_its_word_occurs(code: str, found: list[str]) -> None:
    assert paths(code) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("os.unlink('/tmp/x')", ["/tmp/x"]),
        ("os.unlink('a.py')", ["a.py"]),
        ("f = NamedTemporaryFile(delete=False)\nos.unlink(f.name)", []),
        ("shm = SharedMemory(create=True, size=8)\nshm.unlink()", []),
        ("store.unlink('a')", []),
        ("p = Path('a.py')\np.unlink(missing_ok=True)", ["a.py"]),
        ("Path('a.py').unlink( )", ["a.py"]),
        ("for p in Path('.').glob('*.py'):\n    p.unlink()", [UNNAMED]),
    ],
)
def test_what_is_taken_away_by_unlink(code: str, found: list[str]) -> None:
    assert paths(code) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("print('use Path.write_text(x)')", []),
        ('print("""use\nPath.write_text(x)""")', []),
        ("# open('a.py','w')\nprint(1)", []),
        ("print('#'); open('a.py', 'w')", ["a.py"]),
        ("x = 'it\\'s'; open('a.py', 'w')  # it's", ["a.py"]),
        ("# it's\nopen('a.py', 'w')  # it's", ["a.py"]),
        ("print(f\"{Path('a.py').write_text(x)} written\")", ["a.py"]),
        ("exec(\"open('a.py', 'w')\")", ["a.py"]),
        ("run(['python3', '-c', \"open('a.py', 'w')\"])", ["a.py"]),
    ],
)
def test_what_a_program_only_speaks_of_is_not_written(code: str, found: list[str]) -> None:
    assert paths(code) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("webbrowser.open('a')", []),
        ("zf.open('w')", []),
        ("p.open('w')", [UNNAMED]),
        ("zip_path = Path('a.py')\nzip_path.open('w')", ["a.py"]),
        ("Path('/tmp/x').joinpath('y').write_text('')", ["/tmp/x/."]),
        ("d = tempfile.mkdtemp()\nPath(d).joinpath('y').write_text('')", []),
        ("pathlib.Path('a.py').write_text('')", ["a.py"]),
        ("place('a').write_text('')", [UNNAMED]),
    ],
)
def test_what_is_opened_and_where_it_lies(code: str, found: list[str]) -> None:
    assert paths(code) == found


def test_a_throw_away_place_is_followed_through_several_variables() -> None:
    tree = "a = {}\n" + "".join(f"{b} = os.path.join({a}, 'x')\n" for a, b in zip("abcd", "bcde", strict=True))
    assert paths(tree.format("tempfile.mkdtemp()") + "open(e, 'w')") == []
    assert paths(tree.format("os.getcwd()") + "open(e, 'w')") == [UNNAMED]


def test_what_a_program_makes_and_takes_away_again_is_as_it_was() -> None:
    assert paths("open('t.py', 'w').write('x')\nimport t\nos.remove('t.py')") == []
    assert paths("os.remove('t.py')\nopen('t.py', 'w').write('x')") == ["t.py"]
    assert paths("s = open('t.py').read()\nopen('t.py', 'w').write(s)\nos.remove('t.py')") == ["t.py"]


def test_a_file_that_is_read_first_is_changed_and_one_that_is_not_is_made() -> None:
    assert [c.what for c in writes_of("python", "open('a.py', 'w')")] == ["created"]
    assert [c.what for c in writes_of("python", "s = open('a.py').read(); open('a.py', 'w')")] == ["changed"]
    assert [c.what for c in writes_of("python", "open('a.py', 'a')")] == ["changed"]
    assert [(c.what, c.new) for c in writes_of("python", "os.rename('a.py', 'a.bak')")] == [
        ("deleted", "a.bak"),
        ("created", ""),
    ]


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("node", "fs.writeFileSync('a.js', fs.readFileSync('a.js', 'utf8').replace(/a/, 'b'))", ["a.js"]),
        ("node", "require('fs').writeFile('a.js', x, () => {})", ["a.js"]),
        ("node", "await fs.promises.appendFile('a.js', x)", ["a.js"]),
        ("node", "fs.renameSync('a.js', 'b.js')", ["a.js", "b.js"]),
        ("node", "fs.writeFileSync(`${folder}/a.js`, x)", [UNNAMED]),
        ("node", "const p = path.join(os.tmpdir(), 'x'); fs.writeFileSync(p, '')", []),
        ("node", "console.log(require('./a').f(2), 'a'.replace(/a/, 'b'))", []),
        ("ruby", "File.write('a.rb', File.read('a.rb').sub('a', 'b'))", ["a.rb"]),
        ("ruby", "File.open('a.rb', 'w') { |f| f.puts 1 }", ["a.rb"]),
        ("ruby", "puts File.read('a.rb')", []),
        ("perl", "open(my $f, '>', 'a.txt') or die", ["a.txt"]),
        ("perl", "open(my $f, '<', 'a.txt') or die", []),
        ("php", "file_put_contents('a.php', 'x');", ["a.php"]),
        ("php", "echo file_get_contents('a.php');", []),
        ("psql", "open('a.py', 'w')", []),
    ],
)
def test_other_languages(name: str, code: str, found: list[str]) -> None:
    assert paths(code, name) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python3 - <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("python3 <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("uv run python - src <<'E'\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("cd web && python3 -c \"open('a.py', 'w').write('x')\"", ["web/a.py"]),
        ("python3 -W ignore -c \"open('a.py', 'w')\"", ["a.py"]),
        ("python3 <<< \"open('a.py', 'w')\"", ["a.py"]),
        ("cat <<'E' | python3 -\nopen('a.py', 'w').write('x')\nE", ["a.py"]),
        ("echo \"open('a.py', 'w')\" | python3", ["a.py"]),
        ("node -e \"fs.writeFileSync('a.js', '')\"", ["a.js"]),
        ("node <<'E'\nfs.writeFileSync('a.js', '')\nE", ["a.js"]),
        ("ruby -e \"File.write('a.rb', 'x')\"", ["a.rb"]),
        ("ruby -pi -e '$_.upcase!' a.rb", ["a.rb"]),
        ("ruby -rfileutils -e 'puts FileUtils.pwd'", []),
        ("perl -i -pe 's/a/b/' a.py", ["a.py"]),
        ("perl -pi -e 's/a/b/' a.py", ["a.py"]),
        ("perl -0777pi -e 's/a/b/' a.py", ["a.py"]),
        ("bash <<'E'\nsed -i s/a/b/ a.py\nE", ["a.py"]),
        ("python3 gen.py <<'E'\nopen('a.py', 'w').write('x')\nE", []),
        ("psql <<'E'\nopen('a.py', 'w')\nE", []),
        ("python3 - <<'E'\nprint(open('a.py').read())\nE", []),
    ],
)
def test_programs_on_a_command_line(line: str, found: list[str]) -> None:
    plan = plan_of(line)
    assert [change.path for _, change in shell_changes(plan)] == found
    assert ("edit" in plan.kinds) is bool(found)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import unittest; unittest.main()", "test"),
        ("subprocess.run(['pytest', '-q'])", "pytest"),
        ("os.system('npm test')", "npm test"),
        ("require('./test/all')", "./test/all"),
        ("from tests.test_app import *", "tests"),
        ("print('test: 12 passed in 0.4s')", ""),
        ("import app; print('import test: 3 passed')", ""),
        ("x = 1  # tests", ""),
    ],
)
def test_tests_that_a_program_calls_and_those_it_only_speaks_of(code: str, found: str) -> None:
    assert called_tests_in(code) == found


def test_a_line_is_named_by_its_commands_and_not_by_what_its_programs_say() -> None:
    assert "test" not in names_in("python3 -c \"print('test: 12 passed')\"")
    assert "test" not in names_in("echo \"print('12 tests passed')\" | python3")
    assert "test" not in names_in("python3 - <<'E'\nprint('12 tests passed')\nE")
    assert "pytest" in names_in("python3 -c \"print('pytest')\" && pytest -q")
    assert "pytest" in names_in("pytest -q | python3 -c 'import sys; print(sys.stdin.read())'")
    assert names_in("./run-tests  --all") == "./run-tests  --all"


@given(st.text(alphabet=st.sampled_from("open('a\",w){}[]$`=\n;. Pathwrite_texdfor"), max_size=200))
def test_any_text_is_read_without_an_error(code: str) -> None:
    for name in ("python", "node", "ruby", "perl", "php"):
        writes_of(name, code)
    called_tests_in(code)


PIECES = ["open(", "Path(", "a.", "with ", "for x in ", "'", "=", "import ", "(" * 50, "run(", "\\'", "f'", "a().b"]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_is_no_long_wait(piece: str) -> None:
    code = piece * (2 * CHARACTERS // len(piece))
    writes_of("python", code)
    called_tests_in(code)
