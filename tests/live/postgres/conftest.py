"""A private server of PostgreSQL for these tests; without one they are left out, and say so.

UMI_POSTGRES names the folder of its programs; then nothing is left out: a server that does not start is an
error.
"""

from collections.abc import Iterator

import pytest

from tools.postgres_server import NAMED, QUICK, PrivateServer, find_programs, private_server


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    if not NAMED:
        pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
        if find_programs() is None:
            pytest.skip("no PostgreSQL: apt-get install postgresql, or name its programs in UMI_POSTGRES")
    with private_server(*QUICK) as started:
        yield started


@pytest.fixture
def address(server: PrivateServer) -> str:
    """A database without a memory."""
    return server.clear_database()
