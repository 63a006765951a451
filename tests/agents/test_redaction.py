"""Secrets are taken out of what is written; what only looks like one stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.agents.redaction import REDACTED, Redactor

# Put together here, so that no scanner takes them for real ones.
LETTERS = "aB3" * 20
SECRETS = {
    "anthropic": "sk-ant-" + "api03-" + LETTERS,
    "openai": "sk-" + "proj-" + LETTERS,
    "google": "AIza" + (LETTERS * 2)[:35],
    "google access": "ya29." + LETTERS,
    "github": "ghp_" + LETTERS[:36],
    "github fine": "github_pat_" + LETTERS,
    "gitlab": "glpat-" + LETTERS[:20],
    "aws": "AKIA" + "ABCD2345EFGH6789",
    "slack": "xoxb-" + "123456789012-abcdef",
    "stripe": "sk_live_" + LETTERS[:24],
    "npm": "npm_" + LETTERS[:36],
    "pypi": "pypi-" + "AgEI" + LETTERS,
    "hugging face": "hf_" + LETTERS[:34],
    "web token": "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:20] + "." + LETTERS[:30],
}
WITHIN = {
    "Authorization: Bearer {}": "abcdef0123456789abcdef",
    "authorization: bearer {}": "abc.def-012_345~6789==",
    "Authorization: Basic {}": "dXNlcjpwYXNzd29yZA==",
    "git clone https://ann:{}@example.org/x.git": "hunter2",
    "postgresql+psycopg://user:{}@localhost:5432/db": "p%40ss-word",
    "redis://:{}@[::1]/0": "secretive",
    "export MY_API_KEY={} && run": "Abcdefgh1234",
    "DB_PASSWORD={}": "correct-horse",
}
KEY = "-----BEGIN {}PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQ+/EFA==\n-----END {}PRIVATE KEY-----"
HARMLESS = [
    "the task-0123456789-ABCDEFGHIJKLMN is a disk-1234567890ABCDEFGHIJKLM",
    "class sk-folding-cube-with-a-long-name-indeed",
    "a bearer token is needed; Bearer authentication-scheme",
    "see https://example.org:8080/path@2x.png and mailto:a@b.c",
    "http://localhost:3000/@vite/client",
    "ssh://git@example.org/x.git",
    "https://user:${PASSWORD}@example.org",
    "API_KEY=$MY_KEY",
    "TOKEN=${{ secrets.TOKEN }}",
    "MAX_TOKENS=4096",
    'KEY="" SECRET=<your secret>',
    "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkq\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkq\n-----END CERTIFICATE-----",
    "AKIA is a prefix, ASIA a continent, eyJ a beginning, ghp_ another, sk-ant- too",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b, uuid 123e4567-e89b-12d3-a456-426614174000",
    "input_tokens: 12345, cache_read_input_tokens: 67890",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_shapes_of_providers(secret: str) -> None:
    redactor = Redactor()
    for around in ("{}", "key={}.", '"{}"', "a\n{}\nb", "({})", "https://x.org/?k={}&b"):
        assert redactor.text(around.format(secret)) == around.format(REDACTED)
    line = json.dumps({"text": f'say "{secret}"\n'})
    assert json.loads(redactor.text(line)) == {"text": f'say "{REDACTED}"\n'}


@pytest.mark.parametrize(("around", "secret"), WITHIN.items())
def test_only_the_secret_part_is_taken_out(around: str, secret: str) -> None:
    redactor = Redactor()
    assert redactor.text(around.format(secret)) == around.format(REDACTED)
    line = json.dumps({"text": f'"{around.format(secret)}"\nmore'})
    assert json.loads(redactor.text(line)) == {"text": f'"{around.format(REDACTED)}"\nmore'}


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "ENCRYPTED "])
def test_private_keys(kind: str) -> None:
    text = f"here: {KEY.format(kind, kind)} and more"
    for depth in range(3):
        after = Redactor().text(text)
        assert "MIIE" not in after
        assert "hkiG9w0" not in after
        assert "and more" in after
        for _ in range(depth):
            after = json.loads(after)
        text = json.dumps(text)
    cut = Redactor().text(json.dumps({"text": text[:60], "next": "stays"}))
    assert "MIIE" not in cut
    assert json.loads(cut)["next"] == "stays"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().line(json.dumps(text).encode()) == json.dumps(text).encode()


def test_known_values_in_every_form() -> None:
    value = 'pa"ss\\w/ör d\n9'
    redactor = Redactor([value, "short", "longer-value", "longer-value-still"])
    quoted = json.dumps({"v": value})
    for text in (value, quoted, json.dumps({"v": value}, ensure_ascii=False), json.dumps({"inner": quoted})):
        after = redactor.text(f"before {text} after")
        assert REDACTED in after
        assert "ss\\" not in after
        assert after.startswith("before ")
    assert json.loads(redactor.text(quoted)) == {"v": REDACTED}
    assert json.loads(redactor.text(quoted.replace("/", "\\/"))) == {"v": REDACTED}
    assert redactor.text("u=pa%22ss%5Cw%2F%C3%B6r%20d%0A9") == f"u={REDACTED}"
    assert redactor.text("short longer-value longer-value-still") == f"short {REDACTED} {REDACTED}"


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    redactor = Redactor(["the-known-value"])
    assert redactor.line(b"\xff\xfe the-known-value \x80") == b"\xff\xfe [redacted] \x80"
    assert redactor.line(b"\xff nothing \x80") == b"\xff nothing \x80"


@given(st.recursive(st.text() | st.sampled_from([*SECRETS.values(), *HARMLESS, KEY]), st.lists, max_leaves=6))
def test_a_line_of_json_stays_one(value: object) -> None:
    line = json.dumps({"value": value, "again": json.dumps(value)})
    after = json.loads(Redactor(["canary-value"]).text(line))
    assert set(after) == {"value", "again"}
    json.loads(after["again"])


def test_it_is_done_once_for_all() -> None:
    redactor = Redactor(["the-known-value"])
    for text in (*SECRETS.values(), *(around.format(secret) for around, secret in WITHIN.items()), "the-known-value"):
        once = redactor.text(text)
        assert redactor.text(once) == once
