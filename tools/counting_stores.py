"""Stores on this machine that count their requests: S3 by moto, and WebHDFS over a local directory."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote_to_bytes, urlsplit

from pyarrow import fs

_PREFIX = "/webhdfs/v1"
# The option of an address that a redirection has led to.
_FOLLOWED = "followed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request.

    Attributes:
        operation: For S3 the method, or LIST; for WebHDFS its operation, or REDIRECT.
        path: What it is about, without escapes.
        start: The offset of the first byte that is read; None if no bytes of a file are.
        size_bytes: The bytes of the answer's body.
    """

    operation: str
    path: str
    start: int | None = None
    size_bytes: int = 0


@dataclass(slots=True)
class Store:
    """A store, and the requests that it has answered since they were last taken.

    Attributes:
        root: The URI of its root, without a slash at the end.
        query: The query that its URIs need.
        refused: A path that may not be listed or read.
        delay_seconds: For how long each answer is held back.
    """

    root: str = ""
    query: str = ""
    refused: str = ""
    delay_seconds: float = 0
    _requests: list[Request] = field(default_factory=list)

    def uri(self, path: str) -> str:
        """Return the URI of a path below the root."""
        return f"{self.root}/{path}{self.query}"

    def add(self, request: Request) -> None:
        """Count a request, and hold its answer back; any thread may call this."""
        self._requests.append(request)
        if self.delay_seconds:
            time.sleep(self.delay_seconds)

    def take(self) -> list[Request]:
        """Return the requests, and forget them."""
        requests, self._requests = self._requests, []
        return requests


def operations(requests: list[Request]) -> dict[str, int]:
    """Return how many requests there are of each operation."""
    return dict(Counter(request.operation for request in requests))


@contextmanager
def s3_store(bucket: str) -> Iterator[Store]:
    """Serve an S3 bucket, whose URIs are those of Arrow; it is empty if its name is new to this process."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    store = Store()
    application = DomainDispatcherApplication(create_backend_app)

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: Any) -> None:
            """Write nothing."""

    def count(environ: Mapping[str, str], start: Any) -> list[bytes]:
        body = b"".join(application(environ, start))
        is_listing = "list-type=2" in environ["QUERY_STRING"]
        operation = "LIST" if is_listing else environ["REQUEST_METHOD"]
        first = environ.get("HTTP_RANGE", "").removeprefix("bytes=").partition("-")[0]
        store.add(
            Request(
                operation=operation,
                path=environ["PATH_INFO"],
                start=int(first) if first else None,
                size_bytes=0 if operation == "HEAD" else len(body),
            )
        )
        return [body]

    server = make_server("127.0.0.1", 0, count, threaded=True, request_handler=Quiet)
    with _serving(server):
        # Any credentials are taken.
        store.root = f"s3://name:secret@{bucket}"
        store.query = f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
        system, path = fs.FileSystem.from_uri(f"{store.root}{store.query}&allow_bucket_creation=true")
        system.create_dir(path)
        store.take()
        yield store


@contextmanager
def webhdfs_store(served: Path) -> Iterator[Store]:
    """Serve a local directory by WebHDFS, to be read."""
    counting = Store()

    class Handler(_WebHdfs):
        folder, store = served, counting

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    counting.root = f"webhdfs://127.0.0.1:{server.server_port}"
    with _serving(server):
        yield counting


@contextmanager
def _serving(server: Any) -> Iterator[None]:
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _WebHdfs(BaseHTTPRequestHandler):
    """Answers what Hadoop's client of WebHDFS asks in order to list and read files."""

    protocol_version = "HTTP/1.1"
    # An answer is sent at once: the client acknowledges a part of one late.
    wbufsize = -1
    disable_nagle_algorithm = True
    folder: Path
    store: Store

    def do_GET(self) -> None:
        """Answer a request, and count it."""
        address = urlsplit(self.path)
        options = {name.lower(): values[0] for name, values in parse_qs(address.query).items()}
        operation = options.get("op", "").upper()
        # Hadoop's client does not escape letters beyond ASCII.
        path = unquote_to_bytes(address.path.removeprefix(_PREFIX).encode("iso-8859-1")).decode() or "/"
        file = self.folder / path.lstrip("/")
        start = location = None
        if path == self.store.refused:
            status, body = 403, _failure("AccessControlException", f"Permission denied: {path}")
        elif not file.exists():
            status, body = 404, _failure("FileNotFoundException", f"File does not exist: {path}")
        elif operation == "OPEN" and _FOLLOWED not in options:
            # As a name node does: another node has the data.
            address_there = f"{_PREFIX}{quote(path)}?{address.query}&{_FOLLOWED}=true"
            location = f"http://{self.headers['Host']}{address_there}"
            operation, status, body = "REDIRECT", 307, b""
        elif operation == "OPEN":
            start = int(options.get("offset", 0))
            status, body = 200, _bytes_of(file, start, options.get("length"))
        elif operation in _ANSWERS:
            status, body = 200, json.dumps(_ANSWERS[operation](file)).encode()
        else:
            status, body = 400, _failure("UnsupportedOperationException", f"{operation} is not answered here")
        self.store.add(Request(operation=operation, path=path, start=start, size_bytes=len(body)))
        # A content type is not sent: the client takes any of an answer to OPEN for an error.
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def _bytes_of(file: Path, start: int, length: str | None) -> bytes:
    with file.open("rb") as content:
        content.seek(start)
        return content.read(-1 if length is None else int(length))


def _failure(exception: str, message: str) -> bytes:
    answer = {"exception": exception, "javaClassName": f"java.io.{exception}", "message": message}
    return json.dumps({"RemoteException": answer}).encode()


def _status(file: Path, suffix: str = "") -> dict[str, object]:
    stat = file.stat()
    is_directory = file.is_dir()
    return {
        "pathSuffix": suffix,
        "type": "DIRECTORY" if is_directory else "FILE",
        "length": 0 if is_directory else stat.st_size,
        "modificationTime": stat.st_mtime_ns // 1_000_000,
        "accessTime": 0,
        "blockSize": 1 << 27,
        "replication": 1,
        "owner": "nobody",
        "group": "nobody",
        "permission": "755",
    }


def _statuses(file: Path) -> dict[str, object]:
    children = [_status(child, child.name) for child in sorted(file.iterdir())] if file.is_dir() else None
    return {"FileStatuses": {"FileStatus": [_status(file)] if children is None else children}}


def _locations(file: Path) -> dict[str, object]:
    location = {
        "cachedHosts": [],
        "corrupt": False,
        "hosts": ["127.0.0.1"],
        "length": file.stat().st_size,
        "names": ["127.0.0.1:0"],
        "offset": 0,
        "storageTypes": ["DISK"],
        "topologyPaths": ["/rack/127.0.0.1:0"],
    }
    return {"BlockLocations": {"BlockLocation": [location]}}


def _located_blocks(file: Path) -> dict[str, object]:
    """Return where a file's blocks are, as Hadoop before 3.4 asks for it: nowhere in particular."""
    blocks = {
        "fileLength": file.stat().st_size,
        "isLastBlockComplete": True,
        "isUnderConstruction": False,
        "lastLocatedBlock": None,
        "locatedBlocks": [],
    }
    return {"LocatedBlocks": blocks}


_ANSWERS = {
    "LISTSTATUS": _statuses,
    "GETFILESTATUS": lambda file: {"FileStatus": _status(file)},
    "GETFILEBLOCKLOCATIONS": _locations,
    "GET_BLOCK_LOCATIONS": _located_blocks,
}
