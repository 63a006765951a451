"""Attempts of an agent to have its code run, or files outside its clone taken, by whoever collects its work.

Each is played twice: by an agent without confinement, and by one in bubblewrap. A canary file tells that code ran.
The outcome is the same every time: nothing ran, nothing from outside came in, and the honest part of the work did.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

import pytest
from tests.agents.workspaces.repositories import House

from touchline.agents.port import Level
from touchline.agents.workspaces.changes import patch_text
from touchline.agents.workspaces.desk import desk
from touchline.agents.workspaces.proposal import propose
from touchline.agents.workspaces.repository import find_repository

HOOKS = "pre-commit commit-msg post-commit post-index-change post-checkout reference-transaction fsmonitor-watchman"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What the agent does, beside writing `honest`."""

    script: str
    """`RUN` stands for a command that leaves the canary, `OUT` for a folder outside with a file `secret`."""
    leaves: str = ""
    """What a person is told."""
    commits: bool = True
    """Whether its commits could be taken as such."""
    taken: tuple[str, ...] = ()
    """Files that do come with it, marked as risky where it matters."""


ATTACKS = {
    "swapped .git file": Attack(
        script="git init -q --bare evil; git -C evil config core.bare false; git -C evil config core.fsmonitor 'RUN';"
        "rm -rf .git; echo 'gitdir: evil' > .git",
        leaves="its .git is no longer a folder",
        commits=False,
        taken=("evil/config",),
    ),
    "swapped commondir": Attack(
        script="git init -q --bare evil; git -C evil config core.bare false; git -C evil config core.fsmonitor 'RUN';"
        'git -C evil config core.hooksPath "$PWD/evil"; echo "$PWD/evil" > .git/commondir',
        leaves="points to another repository (commondir)",
        commits=False,
    ),
    "settings that start programs": Attack(
        script="for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass diff.external gpg.program"
        " uploadpack.packObjectsHook core.alternateRefsCommand credential.helper alias.bundle sequence.editor; "
        "do git config $key 'RUN'; done; git config commit.gpgSign true; git config remote.o.uploadpack 'RUN';"
        "printf '[include]\\n\\tpath = more\\n' >> .git/config; printf '[core]\\n\\tfsmonitor = RUN\\n' > .git/more;"
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = RUN\\n' > .git/config.worktree",
    ),
    "hooks": Attack(
        script=f"mkdir -p .git/hooks; for hook in {HOOKS}; do printf '#!/bin/sh\\nRUN\\n' > .git/hooks/$hook;"
        "chmod +x .git/hooks/$hook; done; git config core.hooksPath .git/hooks",
    ),
    "filters and conversions": Attack(
        script="echo '* filter=evil diff=evil merge=evil' > .gitattributes; cp .gitattributes .git/info/attributes;"
        "for key in filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command "
        "merge.evil.driver; do git config $key 'RUN'; done; git config filter.evil.required true",
        taken=(".gitattributes",),
    ),
    "links to files and folders outside": Attack(
        script="ln -s OUT/secret link; ln -s OUT folder; rm -rf src; ln -s OUT src; ln -s OUT/secret .gitignore",
        taken=("link", "folder", "src", ".gitignore"),
    ),
    "links among the objects": Attack(
        script="mv .git/objects OUTSIDE_OBJECTS; ln -s OUTSIDE_OBJECTS .git/objects",
        leaves=".git/objects is no folder",
        commits=False,
    ),
    "a linked pack": Attack(
        script="mkdir -p .git/objects/pack; ln -s OUT/secret .git/objects/pack/pack-1.pack",
        leaves=".git/objects/pack/pack-1.pack is a link",
        commits=False,
    ),
    "objects from elsewhere": Attack(
        script="mkdir -p .git/objects/info; echo OTHER/.git/objects > .git/objects/info/alternates;"
        "echo OTHER_COMMIT > .git/refs/heads/touchline/run1",
        leaves="it takes objects from elsewhere",
        commits=False,
    ),
    "references to files outside": Attack(
        script="rm .git/HEAD; ln -s OUT/secret .git/HEAD; ln -s OUT/secret .git/packed-refs",
        leaves="the branch touchline/run1 holds commits that were not taken",
        commits=False,
    ),
    "names that mean .git elsewhere": Attack(
        script="for name in .GIT .Git git~1 GIT~2 '.git ' '.git.' '.git::$INDEX_ALLOCATION' 'x\\.git'"
        ' "$(printf \'.g\\342\\200\\214it\')"; do mkdir "$name"; printf \'#!/bin/sh\\nRUN\\n\' > "$name/config"; done',
        leaves="take it for the folder that git keeps for itself",
    ),
    "names for options and lines": Attack(
        script="echo 1 > -rf; echo 2 > --upload-pack=x; printf 3 > 'two\nlines'; mkdir -- -p; echo 4 > -p/-x",
        taken=("-rf", "--upload-pack=x", "two?lines", "-p/-x"),
    ),
    "a committed .git folder": Attack(
        script="blob=$(echo RUN | git hash-object -w --stdin);"
        "hooks=$(printf '100755 blob %s\\tpre-commit\\n' $blob | git mktree);"
        "inner=$(printf '040000 tree %s\\thooks\\n' $hooks | git mktree);"
        "tree=$( (git ls-tree HEAD; printf '040000 tree %s\\t.git\\n' $inner) | git mktree);"
        "git update-ref HEAD $(git commit-tree $tree -p HEAD -m evil)",
        leaves="invalid path '.git/hooks/pre-commit'",
        commits=False,
    ),
    "a committed path upwards": Attack(
        script="blob=$(echo RUN | git hash-object -w --stdin);"
        "up=$(printf '100644 blob %s\\tescaped\\n' $blob | git mktree);"
        "tree=$( (git ls-tree HEAD; printf '040000 tree %s\\t..\\n' $up) | git mktree);"
        "git update-ref HEAD $(git commit-tree $tree -p HEAD -m evil)",
        leaves="invalid path '../escaped'",
        commits=False,
    ),
    "a submodule with a hostile address": Attack(
        script="printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ext::RUN\\n\\tupdate = !RUN\\n' > .gitmodules;"
        "git add .gitmodules; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x; git commit -qm sub",
        leaves="gitmodulesUpdate: disallowed submodule update setting",
        commits=False,
    ),
    "a repository within, with settings": Attack(
        script="git init -q inner; cd inner; echo i > i; git add i; git -c user.name=x -c user.email=x@x commit -qm i;"
        "git config core.fsmonitor 'RUN'; git config core.hooksPath .; cd ..; git add inner 2>&1; git commit -qm inner;"
        "echo changed > inner/i",
        leaves="inner/: a repository of its own",
        taken=("inner/i",),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_runs_and_nothing_from_outside_comes_in(house: House, level: Level, name: str) -> None:
    attack = ATTACKS[name]
    outside = house.top / "outside"
    outside.mkdir()
    (outside / "secret").write_text("TOP-SECRET\n")
    (outside / "app.py").write_text("TOP-SECRET\n")
    house.sh("git init -q other; cd other; echo TOP-SECRET > s; git add -A; git commit -qm other", house.top)
    made = house.prepare()
    script = (
        attack.script.replace("RUN", f"touch {house.canary}")
        .replace("OTHER_COMMIT", house.sh("git rev-parse HEAD", house.top / "other"))
        .replace("OTHER", str(house.top / "other"))
        .replace("OUTSIDE_OBJECTS", str(made.path / "moved"))
        .replace("OUT", str(outside))
    )
    house.agent(made, f"echo honest > honest; git add honest; git commit -qm honest; {script}", level=level)

    found = house.collect(made, level=level)
    proposal = propose(house.repo, found.commit, found.base, env=house.env)
    with desk(find_repository(house.repo, house.env)) as git:
        patch = patch_text(git, found.base, found.commit, limit=10**7)

    assert not house.canary.exists(), "code of the agent's ran"
    assert house.show(found.commit, "honest") == "honest"
    assert found.committed_by_agent >= 1 if attack.commits else found.committed_by_agent == 0, found.leftovers
    assert attack.leaves in "\n".join(found.leftovers)
    assert "TOP-SECRET" not in patch
    objects = f"git rev-list --objects {found.base}..{found.commit} | cut -d' ' -f1"
    everything = house.sh(f"{objects} | git cat-file --batch")
    assert "TOP-SECRET" not in everything
    files = house.files(found.commit) - {"moved"}
    honest = {"README.md", "src/app.py", "src/lib.py", "honest"}
    assert set(attack.taken) <= files
    assert not [path for path in files - honest - set(attack.taken) if not path.startswith(("evil/", "moved/"))]
    marked = {risk.path for risk in proposal.risks}
    assert {path.replace("?", "\n") for path in attack.taken} - {"inner/i"} <= marked
    assert (
        house.sh("git status --porcelain; git fsck --strict 2>&1 | grep -v -e ^dangling -e gitignoreSymlink || true")
        == ""
    )


def test_settings_of_the_users_own_do_not_run_on_work_that_nobody_accepted(house: House) -> None:
    """The agent cannot write the user's settings, but it can name in its attributes what the user has set up."""
    run = shlex.quote(f"touch {house.canary}; cat")
    for key in ("filter.own.clean", "filter.own.smudge", "diff.own.textconv", "diff.own.command", "merge.own.driver"):
        house.sh(f"git config {key} {run}")
    house.sh(f"git config core.fsmonitor {run}; git config diff.external {run}; git config merge.default own")
    hook = house.repo / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {house.canary}\n")
    hook.chmod(0o755)
    made = house.prepare()
    house.agent(made, "echo '* filter=own diff=own merge=own' > .gitattributes; echo x >> README.md; git commit -qam x")
    (house.repo / "src/lib.py").write_text("A = 2\n")
    house.sh("git -c core.hooksPath=/dev/null -c core.fsmonitor=false commit -qam mine")
    house.canary.unlink(missing_ok=True)
    found = house.collect(made)
    proposal = propose(house.repo, found.commit, found.base, env=house.env)
    with desk(find_repository(house.repo, house.env)) as git:
        assert "+x" in patch_text(git, found.base, found.commit, limit=10**7)
    assert proposal.how == "merge"
    assert not house.canary.exists()


def test_the_callers_environment_cannot_lead_git_elsewhere(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = house.top / "elsewhere"
    house.sh("git init -q --bare elsewhere", house.top)
    for name, value in {
        "GIT_DIR": str(elsewhere),
        "GIT_WORK_TREE": str(house.top),
        "GIT_INDEX_FILE": str(house.top / "i"),
        "GIT_OBJECT_DIRECTORY": str(elsewhere / "objects"),
        "GIT_EXTERNAL_DIFF": f"touch {house.canary}",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {house.canary}",
        "GIT_TEMPLATE_DIR": str(house.top),
    }.items():
        monkeypatch.setenv(name, value)
    everything = {**os.environ, **house.env}
    made = house.prepare()
    house.agent(made, "echo x > x")
    found = house.collect(made)
    assert propose(house.repo, found.commit, found.base, env=everything).how == "fast-forward"
    assert not house.canary.exists()
    assert os.listdir(elsewhere / "refs/heads") == []
