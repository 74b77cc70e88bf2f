"""An extender as tutorials write it: http.server, and a loop over the nodes of each request.

It knows the nodes of a file, answers with the rules of extender_plugin, and checks nothing.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

_NODES: dict[str, dict[str, Any]] = {}
_ZONE = "topology.kubernetes.io/zone"
_CLOSED = "zone-0"


class LoopingHandler(BaseHTTPRequestHandler):
    """The handler of filter and prioritize."""

    protocol_version = "HTTP/1.1"
    # An answer of several segments would else wait for the acknowledgement of the first.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/filter":
            answer = self._filter(request["NodeNames"])
        else:
            answer = [{"Host": name, "Score": self._score(name)} for name in request["NodeNames"]]
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _filter(self, names: list[str]) -> Any:
        passed, failed = [], {}
        for name in names:
            node = _NODES[name]
            if node["metadata"].get("labels", {}).get(_ZONE) == _CLOSED:
                failed[name] = "node(s) were in a closed zone"
            else:
                passed.append(name)
        return {"NodeNames": passed, "FailedNodes": failed, "Error": ""}

    def _score(self, name: str) -> int:
        node = _NODES[name]
        cpu = int(node["status"]["allocatable"]["cpu"])
        return round(10 * (cpu - node["used"]) / cpu)

    def do_GET(self) -> None:
        """Answer that the server is ready."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def main(file: str, port: str) -> None:
    """Serve the nodes of a file on a loopback port."""
    for node in json.loads(Path(file).read_text()):
        _NODES[node["metadata"]["name"]] = {**node, "used": 0}
    HTTPServer(("127.0.0.1", int(port)), LoopingHandler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
