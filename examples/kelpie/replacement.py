"""The memory takes the place of the server's own: HTTP in, HTTP out, one file for all agents.

python replacement.py        serves, asks three requests as a client would, and ends
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from umi_core.kelpie.wire import Malformed, malformed, parse, respond
from umi_live import open_blocking

FILE = sys.argv[1] if len(sys.argv) > 1 else "agents.db"


class Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        call = parse("http", self.command, self.path, dict(self.headers), body)
        if isinstance(call, Malformed):
            response = malformed(call)
        else:  # a server that is asked often keeps the memories of its agents open
            with open_blocking(FILE, user="ann", agent=call.agent) as memory:
                response = respond(memory.drive(call.request))
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body.encode())

    do_GET = do_POST = do_PATCH = do_DELETE = answer

    def log_message(self, *told: object) -> None: ...


def ask(url: str, method: str, path: str, **fields: str) -> Any:
    body = json.dumps(fields).encode() if fields else None
    with urlopen(Request(f"{url}/v1/agents/helper/{path}", body, method=method)) as response:
        return json.load(response)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        ask(url, "POST", "blocks", label="human", value="Ann likes green tea.")
        ask(url, "PATCH", "blocks/human", value="Ann likes coffee.")
        print(ask(url, "GET", "blocks/human")["value"])
        server.shutdown()
