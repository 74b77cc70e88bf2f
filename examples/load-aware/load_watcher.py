"""A load watcher for trying out: it serves the loads of a file, in percent of each node's cpus.

    python load_watcher.py load.json --port 2020

The API is that of https://github.com/paypal/load-watcher. Edit the file while it runs: it is read
for every request.
"""

from __future__ import annotations

import argparse
import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

WINDOW = 900


def measurements(loads: dict[str, float], now: int) -> dict[str, object]:
    """Return the answer of a load watcher for the average load of each node."""
    nodes = {
        node: {"metrics": [{"type": "CPU", "operator": "AVG", "rollup": "15m", "value": load}]}
        for node, load in loads.items()
    }
    return {
        "timestamp": now,
        "window": {"duration": "15m", "start": now - WINDOW, "end": now},
        "source": "load.json",
        "data": {"NodeMetricsMap": nodes},
    }


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve the loads of a file as load-watcher does.")
    parser.add_argument("file", type=Path, help="a JSON object with the load of each node")
    parser.add_argument("--port", type=int, default=2020)
    options = parser.parse_args()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/watcher":
                self.send_error(404)
                return
            loads = json.loads(options.file.read_text())
            body = json.dumps(measurements(loads, int(time.time()))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            print("Sent the load of", ", ".join(loads), flush=True)

        def log_message(self, format: str, *args: object) -> None:
            pass

    HTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
