"""What a shell command is for, and whose exit code the caller sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.commands import kinds_of, plan_of
from touchline.supervision.shell import split
from touchline.supervision.shell_writes import is_scratch, shell_changes


def words_of(line: str) -> list[tuple[str, ...]]:
    return [part.words for part in split(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la && pwd", [("ls", "-la"), ("pwd",)]),
        ("echo 'a && b' ; echo \"c | d\"", [("echo", "a && b"), ("echo", "c | d")]),
        ("PORT=80 NAME='x y' serve now", [("serve", "now")]),
        ("make 2>&1 | tee out.log", [("make",), ("tee", "out.log")]),
        ("cat <<'EOF' > notes.md\nrm -rf / && pytest\nEOF\nls", [("cat",), ("ls",)]),
        ("cat <<-END\n\thello\n\tEND\nls", [("cat",), ("ls",)]),
        ("(cd web; npm test)", [("cd", "web"), ("npm", "test")]),
        ("for f in a b; do cat $f; done", [("cat", "$f")]),
        ("if make; then echo fine; fi", [("make",), ("echo", "fine")]),
        ("got=$(git status -s); echo $got", [("git", "status", "-s"), ("echo", "$got")]),
        ("ls # && pytest", [("ls",)]),
        ("make \\\n  all", [("make", "all")]),
        ("echo a\\ b", [("echo", "a b")]),
        ("sum=$((1 + 2)); ls", [("ls",)]),
        ("! grep -q x f", [("grep", "-q", "x", "f")]),
    ],
)
def test_a_line_is_split_as_a_shell_would(line: str, expected: list[tuple[str, ...]]) -> None:
    assert words_of(line) == expected


def test_a_commit_message_in_a_heredoc_does_not_swallow_what_follows() -> None:
    line = "git commit -m \"$(cat <<'EOF'\nDon't lose (this\n\nIt's fine\nEOF\n)\" && git push"
    assert kinds_of(line) >= {"commit", "push"}
    assert words_of(line)[-1] == ("git", "push")


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "python -m pytest -q tests",
        "python3.12 -m unittest discover",
        "/bin/bash -lc 'cd api && timeout 60 uv run pytest -x'",
        "sudo -u app env DEBUG=1 pytest",
        "poetry run pytest",
        "coverage run -m pytest",
        "tox -e py311",
        "nox -s tests",
        "npx jest --ci",
        "npx -y vitest run",
        "mocha",
        "npm test",
        "npm t",
        "npm run test:unit",
        "pnpm --filter web test",
        "yarn test",
        "bun test",
        "node --test",
        "deno test -A",
        "go test ./...",
        "cargo test --workspace",
        "cargo nextest run",
        "mvn -q clean verify",
        "./gradlew :core:test",
        "gradle check",
        "bundle exec rspec",
        "bin/rails test",
        "vendor/bin/phpunit",
        "ctest --output-on-failure",
        "dotnet test",
        "swift test",
        "make -C lib test",
        "make check",
        "python manage.py test shop",
        "php artisan test",
        "bats spec.bats",
        "./scripts/run_tests.sh",
        "tests/runtests.py admin",
        "docker compose exec -T web pytest",
        "docker compose -f dev.yml run --rm app pytest",
        "docker compose -f a.yml -f b.yml --profile ci exec -e A=1 app bash -c 'cd /app && pytest'",
        "docker-compose -f x exec -T -w /app app pytest",
        "podman compose exec app pytest",
        "docker exec -it -e A=1 app pytest",
        "podman run --rm -v .:/app image pytest",
        "kubectl exec pod -- pytest",
        "kubectl -n staging exec -it deploy/app -c web -- pytest",
        "uv --directory api run pytest",
        "ssh host 'cd app && pytest'",
        "ssh -p 2222 -i key me@host pytest -q",
        "bazelisk test //...",
        "cargo make test",
        "cargo xtask test",
        "cargo hack test --each-feature",
        "nx run-many -t test",
        "npx nx run-many --target=test",
        "nx run-many -p web -t test",
        "yarn nx affected --target=test",
        "pnpm playwright test",
        "xcodebuild -scheme App -destination 'name=Test phone' test",
        "hatch run test",
        "time pytest",
        "just test",
        "if pytest; then echo ok; fi",
        "result=$(pytest -q)",
    ],
)
def test_test_runs_are_recognised(line: str) -> None:
    assert "test" in kinds_of(line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest --collect-only -q",
        "pytest --help",
        "pytest --version",
        "jest --listTests",
        "cargo test --no-run",
        "go test -list . ./...",
        "ctest -N",
        "tox -l",
        "grep -rn pytest .",
        "echo pytest",
        "cat tests/test_a.py",
        "pip install pytest",
        "npm install --save-dev jest",
        "ls tests",
        "python test_numbers.py",
        "git commit -m 'run pytest'",
        "test -f setup.py",
        "mvn package -DskipTests",
        "vim test.py",
        "docker compose -f test.yml up -d",
        "docker compose -f dev.yml logs pytest",
        "kubectl logs pod",
        "kubectl exec pod -- cat test.log",
        "ssh test",
        "ssh host cat pytest.log",
        "ssh host 'echo pytest'",
        "cargo make docs",
        "cargo search test",
        "cargo new test",
        "cargo expand",
        "nx run-many -t lint -p test",
        "bazelisk query //...",
        "yarn nx affected --target=lint",
        "yarn vite build",
        "xcodebuild -scheme Test build",
        "xcodebuild build-for-testing -scheme App",
        "./ci.sh",
        "npm ci",
    ],
)
def test_what_only_mentions_tests_is_no_test_run(line: str) -> None:
    assert "test" not in kinds_of(line)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("mypy src", {"typecheck"}),
        ("npx tsc --noEmit", {"typecheck"}),
        ("tsc -b", {"typecheck", "build"}),
        ("cargo check", {"typecheck"}),
        ("npm run type-check", {"typecheck"}),
        ("ruff check .", {"lint"}),
        ("ruff check --fix .", {"lint", "edit"}),
        ("python -m flake8", {"lint"}),
        ("npx eslint src", {"lint"}),
        ("cargo clippy -- -D warnings", {"lint"}),
        ("go vet ./...", {"lint"}),
        ("prettier --check .", {"lint"}),
        ("prettier --write .", {"edit"}),
        ("black .", {"edit"}),
        ("black --check .", {"lint"}),
        ("ruff format", {"edit"}),
        ("make", {"build"}),
        ("cargo build --release", {"build"}),
        ("npm run build", {"build"}),
        ("docker build -t app .", {"build"}),
        ("cmake --build out", {"build"}),
        ("python -m build", {"build"}),
        ("./gradlew assemble", {"build"}),
        ("python app.py", {"run"}),
        ("python -c 'import app'", {"run"}),
        ("python - <<'E'\nprint(1)\nE", {"run"}),
        ("node server.js", {"run"}),
        ("./deploy", {"run"}),
        ("go run .", {"run"}),
        ("cargo run", {"run"}),
        ("curl -s http://localhost:8000/health", {"run"}),
        ("curl -s https://example.org/page", {"look"}),
        ("mytool --flag", {"run"}),
        ("command -v node", {"look"}),
        ("command -V pytest", {"look"}),
        ("command pytest", {"test"}),
        ("command sed -i s/a/b/ a.py", {"edit"}),
        ("hash node", {"look"}),
        ("base64 -d key.txt", {"look"}),
        ("base64 -d key.txt > key.bin", {"edit"}),
        ("rev a.txt | tac | paste -s", {"look"}),
        ("code .", {"look"}),
        ("git commit -qm done", {"commit"}),
        ("git -C sub push origin main", {"push"}),
        ("git push --dry-run", {"look"}),
        ("gh pr create --fill", {"pr"}),
        ("glab mr create", {"pr"}),
        ("gh pr view 4", {"look"}),
        ("pip install -e .", {"install"}),
        ("npm ci", {"install"}),
        ("apt-get install -y jq", {"install"}),
        ("yarn", {"install"}),
        ("git status && git diff | head", {"look"}),
        ("sed -n 1,20p a.py", {"look"}),
        ("sed -i s/a/b/ a.py", {"edit"}),
        ("perl -pi -e 's/a/b/' a.py", {"edit"}),
        ("cat > a.py <<'E'\nx = 1\nE", {"edit"}),
        ("echo hi > /dev/null", {"look"}),
        ("rm old.py", {"edit"}),
        ("find . -name '*.py' -exec sed -i s/a/b/ {} +", {"edit"}),
        ("cd src", set()),
        ("mkdir -p a/b", set()),
        ("python --version", {"look"}),
        ("", set()),
        ("C-c", set()),
    ],
)
def test_kinds(line: str, kinds: set[str]) -> None:
    assert kinds_of(line) == kinds


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("pytest", "own"),
        ("cd a && pytest", "own"),
        ("cd a; pytest", "own"),
        ("pytest && git status", "zero"),
        ("pytest && git log | head", "zero"),
        ("set -e\npytest\nls", "zero"),
        ("set -o pipefail; pytest | tail -3", "own"),
        ("pytest || exit 1", "own"),
        ("pytest | tail -3", "hidden"),
        ("(cd a && pytest) 2>&1 | tail -3", "hidden"),
        ("pytest || true", "hidden"),
        ("pytest; ls", "hidden"),
        ("pytest\nls", "hidden"),
        ("pytest &", "hidden"),
        ("pytest\n", "own"),
        ("bash -c 'pytest' | tail", "hidden"),
        ("bash -c 'pytest; ls'", "hidden"),
        ("result=$(pytest -q)", "hidden"),
    ],
)
def test_whose_exit_code_is_seen(line: str, seen: str) -> None:
    if line.startswith("result"):
        line += "; echo $result"
    assert [p.exit for p in plan_of(line).parts if "test" in p.kinds] == [seen]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("echo x > a.txt", [("a.txt", "created")]),
        ("echo x >> a.txt", [("a.txt", "changed")]),
        ("cd web && echo x > a.txt", [("web/a.txt", "created")]),
        ("cat a | tee b.txt", [("b.txt", "created")]),
        ("sed -i 's/a/b/' one.py two.py", [("one.py", "changed"), ("two.py", "changed")]),
        ("sed -i -e s/a/b/ one.py", [("one.py", "changed")]),
        ("perl -pi -e 's/a/b/' one.py", [("one.py", "changed")]),
        ("rm -rf old.py", [("old.py", "deleted")]),
        ("mv a.py b.py", [("a.py", "deleted"), ("b.py", "created")]),
        ("cp a.py b.py", [("b.py", "created")]),
        ("touch n.py", [("n.py", "created")]),
        ("git checkout -- a.py", [("a.py", "changed")]),
        ("git checkout a.py", [("a.py", "changed")]),
        ("git restore a.py", [("a.py", "changed")]),
        ("git stash", [(".", "changed")]),
        ("git apply fix.diff", [(".", "changed")]),
        ("patch -p1 < fix.diff", [(".", "changed")]),
        ("git rm tests/test_a.py", [("tests/test_a.py", "deleted")]),
        ("apply_patch <<'P'\n*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch\nP", [("a.py", "changed")]),
        ("grep -rl a . | xargs sed -i s/a/b/", [(".", "changed")]),
    ],
)
def test_shell_writes(line: str, changes: list[tuple[str, str]]) -> None:
    assert [(c.path, c.what) for _, c in shell_changes(plan_of(line))] == changes


@pytest.mark.parametrize(
    "line",
    [
        "pytest 2>&1",
        "pytest > report.txt",
        "pytest | tee report.txt",
        "python app.py > app.log 2>&1",
        "git checkout main",
        "git checkout -b fix/one.two",
        "git stash list",
        "git reset HEAD a.py",
        "sed -n 3p a.py",
        "black .",
        "ls >&2",
        "python -c \"open('a')\"",
        "echo 'a > b'",
    ],
)
def test_no_shell_writes(line: str) -> None:
    assert shell_changes(plan_of(line)) == ()


def test_scratch_is_not_the_work_unless_the_work_lies_there() -> None:
    assert is_scratch("/tmp/x.py", "/home/me/repo")
    assert is_scratch("/dev/null", None)
    assert not is_scratch("/tmp/ws/x.py", "/tmp/ws")
    assert not is_scratch("src/x.py", None)
    assert not is_scratch("/tmpfiles/x.py", None)


SHELLISH = st.text(alphabet=st.sampled_from("ab =\"'\\$()`{}<>|&;#\n-!/2.EOF"), max_size=80)


@given(st.one_of(st.text(max_size=200), SHELLISH))
def test_any_text_is_read_without_an_error(line: str) -> None:
    plan = plan_of(line)
    shell_changes(plan)
    assert plan.kinds == frozenset().union(*(p.kinds for p in plan.parts))


@pytest.mark.parametrize(
    "piece",
    [
        "$(",
        '"',
        "'",
        "`",
        "(",
        "((",
        "\\",
        "<<A\n",
        "a;",
        "|&",
        "\n",
        '"$(',
        "a ",
        "bash -c '",
        "sudo ",
        "{ ",
        "<<a\na\n",
    ],
)
@pytest.mark.timeout(30)  # quadratic, it would take minutes
def test_a_long_line_is_read(piece: str) -> None:
    line = piece * (100_000 // len(piece))
    assert plan_of(line).kinds is not None


@pytest.mark.timeout(10)  # quadratic, it would take much longer
@pytest.mark.parametrize("piece", ["x", "x.", "x-", "x ", " "])
def test_a_long_word_is_no_long_wait(piece: str) -> None:
    assert plan_of(f"echo ( {piece * (50_000 // len(piece))}").kinds is not None


@pytest.mark.parametrize(
    "line",
    [
        'pytest() { echo "42 passed"; }; pytest -q',
        "function pytest { true; }; pytest",
        "alias pytest=true; pytest -q",
        "sh ./pytest",
        "./pytest -q",
        "./tools/pytest",
    ],
)
def test_a_stand_in_for_a_runner_proves_nothing(line: str) -> None:
    plan = plan_of(line)
    assert not plan.kinds & {"test", "run"}, "neither its name nor what it prints proves anything"
    assert all(part.runner == "" for part in plan.parts)


@pytest.mark.parametrize(
    "line", ["venv/bin/pytest -q", "node_modules/.bin/jest", "vendor/bin/phpunit", "./gradlew test"]
)
def test_installed_runners_and_wrappers_are_what_they_are_called(line: str) -> None:
    assert "test" in plan_of(line).kinds


def test_what_is_changed_on_another_machine_is_no_change_of_the_work() -> None:
    assert shell_changes(plan_of("ssh host 'sed -i s/a/b/ app.py && echo x > b.py && pytest'")) == ()
    assert shell_changes(plan_of("bash -c 'sed -i s/a/b/ app.py && echo x > b.py && pytest'")) != ()


def test_the_exit_code_of_what_comes_last_on_another_machine_is_not_that_of_the_tests() -> None:
    hidden, own = plan_of("ssh host 'pytest; rm -rf out'"), plan_of("ssh host 'rm -rf out; pytest'")
    assert [p.exit for p in hidden.parts if "test" in p.kinds] == ["hidden"]
    assert [p.exit for p in own.parts if "test" in p.kinds] == ["own"]
