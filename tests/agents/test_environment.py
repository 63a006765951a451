"""An agent gets the variables it needs, its own provider's keys, and no other secret."""

from __future__ import annotations

import pytest

from touchline.agents.environment import environment_for, looks_secret, secrets_in

PLAIN = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/ann",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "xterm",
    "TZ": "UTC",
    "HTTPS_PROXY": "http://proxy:3128",
    "no_proxy": "localhost",
    "SSL_CERT_FILE": "/etc/ssl/ca.pem",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/ca.pem",
}
KEYS = {
    "ANTHROPIC_API_KEY": "key-of-anthropic",
    "CLAUDE_CODE_OAUTH_TOKEN": "token-of-claude",
    "OPENAI_API_KEY": "key-of-openai",
    "GEMINI_API_KEY": "key-of-gemini",
    "OPENROUTER_API_KEY": "key-of-openrouter",
}
UNWANTED = {
    "AWS_ACCESS_KEY_ID": "1",
    "AWS_SECRET_ACCESS_KEY": "1",
    "GITHUB_TOKEN": "1",
    "GH_TOKEN": "1",
    "NPM_TOKEN": "1",
    "DATABASE_URL": "postgres://u:p@h/d",
    "DB_PASSWORD": "1",
    "LC_SECRET_TOKEN": "fits LC_* and is a secret all the same",
    "LD_PRELOAD": "/tmp/evil.so",
    "LD_LIBRARY_PATH": "/tmp",
    "PYTHONPATH": "/tmp",
    "PYTHONSTARTUP": "/tmp/x.py",
    "NODE_OPTIONS": "--require /tmp/x.js",
    "BASH_ENV": "/tmp/x.sh",
    "GIT_DIR": "/elsewhere",
    "GIT_SSH_COMMAND": "evil",
    "SSH_AUTH_SOCK": "/tmp/agent.sock",
    "DBUS_SESSION_BUS_ADDRESS": "unix:abstract=/x",
    "DOCKER_HOST": "unix:///x",
    "DISPLAY": ":0",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CODEX_SANDBOX": "1",
    "TOUCHLINE_FAULT": "child.started",
    "TOUCHLINE_CHILD": "the token of somebody else",
    "SOMETHING_NEW": "that nobody thought of",
}


@pytest.mark.parametrize(
    ("driver", "keys"),
    [
        ("claude", {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}),
        ("codex", {"OPENAI_API_KEY"}),
        ("gemini", {"GEMINI_API_KEY"}),
        ("opencode", {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}),
        ("scripted", set()),
        ("a-strangers-plug-in", set()),
    ],
)
def test_each_gets_its_own_keys_and_nobody_elses(driver: str, keys: set[str]) -> None:
    given = environment_for({**PLAIN, **KEYS, **UNWANTED}, driver=driver)
    assert given == {**PLAIN, **{name: KEYS[name] for name in keys}}


def test_what_the_user_allows_and_the_driver_adds() -> None:
    base = {**PLAIN, **UNWANTED}
    given = environment_for(base, driver="claude", allow=["NPM_TOKEN", "GIT_*"], extra={"LANG": "de", "X": "y"})
    assert given == {
        **PLAIN,
        "NPM_TOKEN": "1",
        "GIT_DIR": "/elsewhere",
        "GIT_SSH_COMMAND": "evil",
        "LANG": "de",
        "X": "y",
    }


def test_keys_of_a_cloud_come_along_when_the_agent_is_told_to_use_it() -> None:
    base = {**PLAIN, **UNWANTED, "CLAUDE_CODE_USE_BEDROCK": "1"}
    assert "AWS_SECRET_ACCESS_KEY" in environment_for(base, driver="claude")
    for off in ("0", "false", ""):
        given = environment_for({**base, "CLAUDE_CODE_USE_BEDROCK": off}, driver="claude")
        assert "AWS_SECRET_ACCESS_KEY" not in given
    assert "AWS_SECRET_ACCESS_KEY" not in environment_for(base, driver="codex")


def test_no_program_is_found_in_the_folder_that_the_agent_writes() -> None:
    assert environment_for({"PATH": ".:/usr/bin::bin:/bin:"}, driver="claude") == {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "OPENAI_API_KEY",
        "MY_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "GITHUB_TOKEN",
        "github_token",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "STRIPE_KEY",
        "APIKEY",
        "SMTP_PASS",
        "GOOGLE_CREDENTIALS",
        "NPM_AUTH",
        "SENTRY_DSN",
        "GH_PAT",
        "SESSION_COOKIE",
        "ENCRYPTION_KEYS",
        "SSH_PASSPHRASE",
        "VAULT_TOKEN_FILE",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LANG",
        "KEYBOARD_LAYOUT",
        "MONKEY",
        "TOKYO",
        "PWD",
        "OLDPWD",
        "AUTHOR",
        "GIT_AUTHOR_NAME",
        "PATCH",
        "COMPASS_HOME",
        "SSH_AUTH_SOCK",
        "TERM_PROGRAM",
        "DONKEY_HOME",
    ],
)
def test_names_that_only_sound_alike(name: str) -> None:
    assert not looks_secret(name)


def test_values_that_must_not_be_written() -> None:
    env = {
        "A_TOKEN": " the-long-value\n",
        "B_KEY": "short",
        "C_KEY": "/home/ann/key.pem",
        "D_TOKEN": "1234567890",
        "PATH": "/a/long/path",
        "E_SECRET": "another-long-value",
    }
    assert secrets_in(env) == ("another-long-value", "the-long-value")
