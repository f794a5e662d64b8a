"""A small store of objects for tests: as much of S3 as reading a folder of Parquet files takes."""

import contextlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

LISTED = "<Contents><Key>{}</Key><LastModified>2025-01-01T00:00:00.000Z</LastModified><Size>{}</Size></Contents>"
LIST = "<ListBucketResult><KeyCount>{}</KeyCount><IsTruncated>false</IsTruncated>{}</ListBucketResult>"
FACTS = {"ETag": '"1"', "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT"}


@contextlib.contextmanager
def bucket(name, objects, seen):
    """The port of a store whose bucket holds these objects; what is sent to it goes to `seen`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body=b"", size=None, **headers):
            self.send_response(status)
            for key, value in ({"Content-Length": len(body) if size is None else size} | headers).items():
                self.send_header(key.replace("_", "-"), str(value))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self):
            body = objects.get(self.key())
            self.reply(404) if body is None else self.reply(200, size=len(body), **FACTS)

        def do_GET(self):
            query = parse_qs(urlsplit(self.path).query)
            body = objects.get(self.key())
            if "list-type" in query:
                keys = [key for key in objects if key.startswith(query.get("prefix", [""])[0])]
                lines = "".join(LISTED.format(key, len(objects[key])) for key in keys)
                self.reply(200, LIST.format(len(keys), lines).encode(), Content_Type="application/xml")
            elif body is None:
                self.reply(404)
            elif part := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
                begin, end = int(part[1]), min(int(part[2]) + 1, len(body))
                told = {"Content_Range": f"bytes {begin}-{end - 1}/{len(body)}"}
                self.reply(206, body[begin:end], **FACTS, **told)
            else:
                self.reply(200, body, **FACTS)

        def key(self):
            seen.append(f"{self.path}\n{self.headers}")
            return unquote(urlsplit(self.path).path).removeprefix(f"/{name}/")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
