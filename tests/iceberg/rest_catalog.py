"""A catalog of Iceberg on this machine that answers by the REST interface, from PyIceberg's one in SQLite."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

# The status of an answer, which a client turns into an error of its own, by the class of an error.
_STATUS = {NoSuchTableError: 404, NoSuchNamespaceError: 404, CommitFailedException: 409}


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Serve a catalog whose tables lie in a folder; yields its URI."""
    stored = SqlCatalog("rest", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))

    class Handler(_Rest):
        catalog = stored

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        stored.close()


class _Rest(BaseHTTPRequestHandler):
    """Answers what Spark's catalog asks to make, load, change and drop tables, one request at a time."""

    protocol_version = "HTTP/1.1"
    catalog: SqlCatalog
    lock = threading.Lock()

    def do_GET(self) -> None:
        """Tell the configuration, a namespace or a table."""
        self._answer(self._load)

    def do_HEAD(self) -> None:
        """Tell whether a namespace or a table exists."""
        self._answer(self._load)

    def do_POST(self) -> None:
        """Make a namespace or a table, or change a table."""
        self._answer(self._change)

    def do_DELETE(self) -> None:
        """Drop a table."""
        self._answer(lambda path, body: self.catalog.drop_table(tuple(path[2::2])))

    def _load(self, path: list[str], body: Any) -> Any:
        match path:
            case ["config"]:
                return {"defaults": {}, "overrides": {}}
            case ["namespaces", namespace]:
                return {
                    "namespace": [namespace],
                    "properties": self.catalog.load_namespace_properties(namespace),
                }
            case ["namespaces", namespace, "tables", name]:
                return _table_answer(self.catalog.load_table((namespace, name)))
        raise NoSuchTableError("/".join(path))

    def _change(self, path: list[str], body: Any) -> Any:
        match path:
            case ["namespaces"]:
                self.catalog.create_namespace(tuple(body["namespace"]))
                return {"namespace": body["namespace"], "properties": {}}
            case ["namespaces", namespace, "tables"]:
                wanted = CreateTableRequest.model_validate({"location": None, **body})
                table = self.catalog.create_table(
                    (namespace, wanted.name),
                    wanted.table_schema,
                    partition_spec=wanted.partition_spec or UNPARTITIONED_PARTITION_SPEC,
                    sort_order=wanted.write_order or UNSORTED_SORT_ORDER,
                    properties=wanted.properties,
                )
                return _table_answer(table)
            case ["namespaces", namespace, "tables", name]:
                identifier = {"namespace": [namespace], "name": name}
                commit = CommitTableRequest.model_validate({**body, "identifier": identifier})
                table = self.catalog.load_table((namespace, name))
                changed = self.catalog.commit_table(table, commit.requirements, commit.updates)
                return json.loads(changed.model_dump_json(by_alias=True))
        # Reports of scans and commits are taken, and forgotten.
        return None

    def _answer(self, act: Any) -> None:
        """Answer a request by what an action gives for its path below /v1 and its body."""
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        path = [unquote(part) for part in urlsplit(self.path).path.split("/") if part][1:]
        try:
            with self.lock:
                answer = act(path, body)
            status = 204 if answer is None else 200
        except tuple(_STATUS) as error:
            status = _STATUS[type(error)]
            answer = {"error": {"message": str(error), "type": type(error).__name__, "code": status}}
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def _table_answer(table: Table) -> dict[str, Any]:
    return {
        "metadata-location": table.metadata_location,
        "metadata": json.loads(table.metadata.model_dump_json(by_alias=True)),
        "config": {},
    }
