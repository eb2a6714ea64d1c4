"""A private PostgreSQL server in a temporary folder, for tests and measurements: `with private_server()`.

UMI_POSTGRES names the folder of its programs; without it the usual folders of distributions are searched.
"""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

NAMED: Final = os.environ.get("UMI_POSTGRES", "")
FOLDERS: Final = ("/usr/lib/postgresql", "/usr/local/bin", "/usr/local/pgsql/bin")
READY_S_MAX: Final = 60
QUICK: Final = ("-c", "fsync=off")  # safe here: after a kill, the operating system still has all writes


def find_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`, the latest release first; None without one."""
    if NAMED:
        return Path(NAMED)
    releases = sorted(Path(FOLDERS[0]).glob("*/bin"), key=lambda it: it.parent.name.zfill(4), reverse=True)
    found = shutil.which("initdb")
    folders = [*releases, *([Path(found).parent] if found else []), *map(Path, FOLDERS[1:])]
    return next((it for it in folders if all((it / name).exists() for name in ("initdb", "postgres"))), None)


class PrivateServer:
    """A server on a local port, which can be killed and started again."""

    def __init__(self, programs: Path, folder: Path, settings: Sequence[str]) -> None:
        self.programs, self.folder, self.settings = programs, folder, settings
        self.data, self.log = folder / "data", folder / "log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.names = itertools.count(1)
        self.whose: dict[str, Any] = {}  # PostgreSQL refuses to run as root
        if os.getuid() == 0:
            user = next(it for name in ("postgres", "nobody") for it in pwd.getpwall() if it.pw_name == name)
            self.whose = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        made = ("--username=umi", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.run("initdb", "-D", str(self.data), *made)
        self.start()

    def run(self, name: str, *arguments: str) -> None:
        command = [str(self.programs / name), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, **self.whose)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        command = [str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port), "-k", ""]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, "-c", "listen_addresses=127.0.0.1", *self.settings],
                cwd=self.folder, stdout=log, stderr=log, **self.whose,
            )  # fmt: skip
        import psycopg

        for _ in range(READY_S_MAX * 50):
            try:
                psycopg.connect(self.address_of("postgres")).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        raise RuntimeError(self.log.read_text(errors="replace")[-2_000:])

    def stop(self, how: signal.Signals) -> None:
        """Stop the server: SIGINT is an orderly stop, SIGQUIT an immediate one, like a crash."""
        self.process.send_signal(how)
        self.process.wait()

    def address_of(self, database: str) -> str:
        return f"postgresql://umi@127.0.0.1:{self.port}/{database}"

    def make_database(self, options: str = "") -> str:
        """Return the address of a new database."""
        import psycopg

        name = f"made_{next(self.names)}"
        with psycopg.connect(self.address_of("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name} {options}".encode())
        return self.address_of(name)

    def clear_database(self) -> str:
        """Empty the same database each time, which is faster than a new one, and return its address."""
        import psycopg

        with psycopg.connect(self.address_of("postgres"), autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
            connection.execute("drop schema if exists umi_live cascade")
        return self.address_of("postgres")


class CuttingProxy:
    """A proxy that cuts a connection instead of forwarding message `cut_at`; 0 cuts none.

    Messages of both sides are counted, over all connections. `address`: the address for clients.
    """

    def __init__(self, address: str, cut_at: int) -> None:
        parts = urlsplit(address)
        self.server = parts.hostname or "", parts.port or 0
        self.cut_at, self.count, self.is_cut = cut_at, 0, False
        self.lock = threading.Lock()
        self.listening = socket.create_server(("127.0.0.1", 0))
        here = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.address = f"postgresql://{parts.username}@{here}{parts.path}?sslmode=disable&gssencmode=disable"
        self.ends: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for end in (self.listening, *self.ends):
            shut(end)

    def accept(self) -> None:
        with suppress(OSError):  # the end
            while True:
                client, _ = self.listening.accept()
                server = socket.create_connection(self.server)
                self.ends += client, server
                for end in (client, server):  # otherwise a small message waits for the previous one
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for pair in ((client, server, 0), (server, client, 1)):
                    threading.Thread(target=self.hand_on, args=pair, daemon=True).start()

    def hand_on(self, source: socket.socket, sink: socket.socket, letters: int) -> None:
        """Forward message after message; the first one of a client has no type letter before its length."""
        with suppress(OSError, ValueError), source.makefile("rb") as stream:
            while len(head := stream.read(letters + 4)) == letters + 4:
                message = head + stream.read(int.from_bytes(head[letters:]) - 4)
                letters = 1
                with self.lock:
                    self.count += 1
                    if self.count == self.cut_at:
                        self.is_cut = True
                        break
                sink.sendall(message)
        shut(source)
        shut(sink)


def shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def private_server(*settings: str) -> Iterator[PrivateServer]:
    """Run a server until the end of the block. Raises RuntimeError if PostgreSQL is missing or fails."""
    programs = find_programs()
    if programs is None:
        raise RuntimeError("no PostgreSQL: apt-get install postgresql, or name its programs in UMI_POSTGRES")
    with tempfile.TemporaryDirectory(prefix="umi-postgres-", ignore_cleanup_errors=True) as folder:
        server = PrivateServer(programs, Path(folder), settings)
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
