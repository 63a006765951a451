"""Which simple commands does a shell line hold?

Splits a line the way a shell would read it: quotes, escapes, here-documents, redirections, substitutions, lists,
pipes and groups. It runs nothing, expands nothing and never raises: a line no shell would take still gives parts.
What a part is for is asked in `commands`.
"""

from __future__ import annotations

from touchline.supervision.prepared import shape
from touchline.supervision.remembering import cache
from touchline.supervision.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

MAX_DEPTH = 3
"""How deep substitutions and nested shells are followed: each level reads the text once more."""

_OPENERS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "{", "!"})
_CLOSERS = frozenset({"done", "fi", "esac", "}"})
_HEADS = frozenset({"for", "case", "select", "function"})
_SEEN = frozenset({"/dev/stdout", "/dev/stderr", "/dev/tty"})


class Simple(Value):
    """One command with its words, without quotes, assignments and redirections."""

    words: tuple[str, ...]
    targets: tuple[str, ...] = ()
    """Files its output is sent to."""
    appends: bool = False
    heredoc: str = ""
    out: str = ""
    """Where its output goes that nobody sees; empty where it is shown. `$(` when it becomes a word of the line."""
    err: str = ""
    """The same for its error output."""
    negated: bool = False
    """True after `!`: its exit code is turned round."""
    then: str = ""
    """The operator before the next command: `&&`, `||`, `|`, `;`, `&`, or nothing at the end."""
    elsewhere: bool = False
    """True when it runs on another machine."""


class _Open:
    """A command while it is being read."""

    __slots__ = ("appends", "heredoc", "inner", "negated", "sent", "targets", "then", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.targets: list[str] = []
        self.inner: list[str] = []
        self.appends, self.heredoc, self.then = False, "", ";"
        self.sent = ["", "", ""]
        self.negated = False


@cache
def _lexer() -> re.Pattern[str]:
    return shape(r"""(?xs)(?P<words>(?:[^\s'"\\$`;&|()<>#=]+[ \t]+)+)
          | (?P<blank>(?:[ \t\r\f\v]|\\\n)+)
          | (?P<plain>[^\s'"\\$`;&|()<>]+)
          | (?P<single>'[^']*(?:'|\Z))
          | (?P<escape>\\.)
          | (?P<redirect>&>>?|<<<|<<-?|>>|>\||>&|<&|<>|[<>])
          | (?P<op>&&|\|\||\|&|;;|[;&|()\n])
          | (?P<other>.)""")


@cache
def _quoted_chunk() -> re.Pattern[str]:
    return shape(r'[^"\\$`]+')


@cache
def _paren() -> re.Pattern[str]:
    return shape(r"""(?s)\\.|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|[()]|<<-?[ \t]*['"]?(?P<delimiter>\w+)""")


def _body_end(line: str, start: int, delimiter: str, *, tabs: bool) -> tuple[int, int]:
    """Where a here-document's body ends, and where the text after its last line begins."""
    at = start
    while delimiter and (hit := line.find(delimiter, at)) >= 0:
        begin = line.rfind("\n", start, hit) + 1 or start
        stop = line.find("\n", hit)
        stop = len(line) if stop < 0 else stop
        last = line[begin:stop]
        if (last.strip() if tabs else last.rstrip()) == delimiter:
            return begin, min(stop + 1, len(line))
        at = stop + 1
    return len(line), len(line)


@cache
def _assignment() -> re.Pattern[str]:
    return shape(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")


def split(line: str, depth: int = 0) -> tuple[Simple, ...]:
    """The simple commands of the line, in the order they are written."""
    return _Reader(line, depth).read()


class _Reader:
    def __init__(self, line: str, depth: int) -> None:
        self.line, self.depth, self.at = line, depth, 0
        self.done: list[_Open] = []
        self.now = _Open()
        self.word: list[str] | None = None
        self.bare = self.opens_bare = True
        self.awaits = ""
        self.stream = 1
        self.heredocs: list[tuple[_Open, str, str]] = []
        self.closed = False

    def read(self) -> tuple[Simple, ...]:
        line, match = self.line, _lexer().match
        while found := match(line, self.at):
            kind, text = found.lastgroup, found.group()
            start, self.at = self.at, found.end()
            if kind == "words":
                self._whole(text.split())
            elif kind == "blank":
                self._end_word()
            elif kind == "plain":
                if self.word is None and text.startswith("#"):
                    end = line.find("\n", start)
                    self.at = len(line) if end < 0 else end
                    continue
                self._add(text)
            elif kind == "single":
                self._add(text[1:].removesuffix("'"), bare=False)
            elif kind == "escape":
                self._add(text[1:], bare=False)
            elif kind == "redirect":
                self._redirect(text)
            elif kind == "op":
                self._operator(text)
            else:
                self._other(text)
        self._end_word()
        self._finish(";")
        return self._simples()

    def _whole(self, words: list[str]) -> None:
        """Words with nothing special about them, which is most of them, are taken at once."""
        if self.word is not None or self.awaits:
            self._add(words[0])
            self._end_word()
            del words[0]
        self.now.words.extend(words)

    def _add(self, text: str, *, bare: bool = True) -> None:
        if self.word is None:
            self.word, self.bare, self.opens_bare = [], True, bare
        self.word.append(text)
        self.bare = self.bare and bare

    def _end_word(self) -> None:
        if self.word is None:
            return
        first, word, self.word = self.word[0], "".join(self.word), None
        awaits, self.awaits = self.awaits, ""
        if awaits in ("<<", "<<-"):
            self.heredocs.append((self.now, word, awaits))
        elif awaits == "<<<":
            self.now.heredoc = word
        elif awaits == ">&" and (word == "-" or word.isdigit()):
            if self.stream in (1, 2):
                self.now.sent[self.stream] = self.now.sent[int(word)] if word in ("1", "2") else "/dev/null"
        elif awaits in (">", ">|", "&>", ">&", ">>", "&>>"):
            self.now.targets.append(word)
            self.now.appends = awaits.endswith(">>")
            for stream in (1, 2) if "&" in awaits else (self.stream,):
                if stream in (1, 2):
                    self.now.sent[stream] = "" if word in _SEEN else word
        elif not awaits:
            if self.opens_bare and not self.now.words and _assignment().match(first):
                return
            self.now.words.append(word)

    def _redirect(self, text: str) -> None:
        self.stream = 1
        if self.word is not None and self.bare and (digits := "".join(self.word)).isdigit():
            self.stream = int(digits) if len(digits) == 1 else 0
            self.word = None
        self._end_word()
        self.awaits = text

    def _operator(self, text: str) -> None:
        self._end_word()
        self.awaits = ""
        owner = self.now
        if text == "\n" and self.heredocs:
            self._bodies()
        then = {"\n": ";", ";;": ";", "(": ";", ")": ";", "|&": "|"}.get(text, text)
        if text == "(" and not owner.words:
            self.closed = False
        elif owner.words or owner.inner or owner.targets:
            self._finish(then)
            self.closed = self.closed or text == ")"
        elif text == ")":
            self.closed = True
        elif self.closed and self.done:
            self.done[-1].then, self.closed = then, False

    def _other(self, text: str) -> None:
        line = self.line
        if text == '"':
            self._double()
        elif text == "$" and line.startswith("(", self.at):
            self._substitution()
        elif text == "`":
            end = line.find("`", self.at)
            end = len(line) if end < 0 else end
            self.now.inner.append(line[self.at : end])
            self._add(line[self.at - 1 : end + 1], bare=True)
            self.at = end + 1
        else:
            self._add(text)

    def _double(self) -> None:
        line, chunk = self.line, _quoted_chunk()
        self._add("", bare=False)
        while self.at < len(line):
            if found := chunk.match(line, self.at):
                self._add(found.group(), bare=False)
                self.at = found.end()
                continue
            char = line[self.at]
            self.at += 1
            if char == '"':
                return
            if char == "\\":
                self._add(line[self.at : self.at + 1], bare=False)
                self.at += 1
            elif char == "$" and line.startswith("(", self.at):
                self._substitution()
            else:
                self._add(char, bare=False)

    def _substitution(self) -> None:
        """Keep `$(...)` as one piece of the word, and its inside as commands of their own."""
        line, start, level = self.line, self.at + 1, 1
        end, at = len(line), self.at + 1
        while found := _paren().search(line, at):
            mark, at = found.group(), found.end()
            if delimiter := found.group("delimiter"):
                at = _body_end(line, at, delimiter, tabs=True)[1]
                continue
            level += (mark == "(") - (mark == ")")
            if level == 0:
                end = found.start()
                break
        if not line.startswith("(", start):
            self.now.inner.append(line[start:end])
        self._add(line[start - 2 : end + 1], bare=True)
        self.at = end + 1

    def _bodies(self) -> None:
        for owner, delimiter, operator in self.heredocs:
            end, after = _body_end(self.line, self.at, delimiter, tabs=operator == "<<-")
            owner.heredoc, self.at = self.line[self.at : end], after
        self.heredocs.clear()

    def _finish(self, then: str) -> None:
        now, self.now = self.now, _Open()
        while now.words and now.words[0] in _OPENERS:
            now.negated = now.negated or now.words[0] == "!"
            del now.words[0]
        if now.words and now.words[0] in _HEADS:
            now.words.clear()
        if (now.words and now.words[0] in _CLOSERS) or (self.closed and not now.words):
            # Where the group began is not known here: what stands before its end may all have been sent away.
            for part in self.done:
                part.sent = [mine or group for mine, group in zip(part.sent, now.sent, strict=True)]
        if now.words and now.words[0] in _CLOSERS:
            if self.done:
                self.done[-1].then = then
            return
        now.then = then
        if now.words or now.inner or now.targets:
            self.done.append(now)

    def _simples(self) -> tuple[Simple, ...]:
        out: list[Simple] = []
        if self.done and self.done[-1].then != "&":
            self.done[-1].then = ""
        for part in self.done:
            if self.depth < MAX_DEPTH:
                for text in part.inner:
                    nested = split(text, self.depth + 1)
                    nested = tuple(replace(each, out=each.out or "$(") for each in nested)
                    if nested:
                        out.extend((*nested[:-1], replace(nested[-1], then=";")))
            if part.words or part.targets:
                out.append(
                    Simple(
                        words=tuple(part.words),
                        targets=tuple(part.targets),
                        appends=part.appends,
                        heredoc=part.heredoc,
                        out=part.sent[1],
                        err=part.sent[2],
                        negated=part.negated,
                        then=part.then,
                    )
                )
        return tuple(out)
