"""A real PostgreSQL server for tests: started, restarted and ended by its process id."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from uuid import uuid4


def find_binaries() -> Path | None:
    """The folder with `initdb` and `postgres`, wherever the system put it."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        candidates.insert(0, Path(on_path).parent)
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


class PostgresServer:
    """One server with its own data folder, listening on 127.0.0.1 only."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.data = folder / "data"
        self.port = _free_port()
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PostgresServer:
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", str(self.data), "-U", self.user, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.stop()

    def url(self, name: str = "postgres") -> str:
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{name}"

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            # Tests kill the server, not the machine: what it has handed to the system is not lost.
            "fsync": "off",
        }
        arguments = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port), *arguments]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._as_user())  # type: ignore[call-overload]
        self._wait_ready()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it at once and cleanly; SIGKILL is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """A new, empty database; gone afterwards."""
        name = f"t{uuid4().hex[:16]}"
        self._sql(f"create database {name}")
        try:
            yield self.url(name)
        finally:
            self._sql(f"drop database if exists {name} with (force)")

    def _sql(self, statement: str) -> None:
        import psycopg

        plain = self.url().replace("+psycopg", "")
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(statement.encode())

    def _wait_ready(self) -> None:
        import psycopg

        plain = self.url().replace("+psycopg", "")
        for _ in range(600):
            try:
                psycopg.connect(plain, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self._process is None or self._process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-800:]}")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.binaries / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, **self._as_user())  # type: ignore[call-overload]

    def _as_user(self) -> dict[str, object]:
        """PostgreSQL refuses to run as root."""
        return {"user": self.user, "cwd": self.folder} if os.geteuid() == 0 else {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
