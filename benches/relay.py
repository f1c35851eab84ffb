"""A relay before a registry on loopback, in a process of its own, which answers again what it was
answered once.

It counts what is asked, and shows a registry as one that keeps no log where it is told to: so the
same client does the same work with the log's checks and without them.
"""

import asyncio
import json
import multiprocessing
import socket
import urllib.error
import urllib.request


class Relay:
    """Relays what it is asked for to `upstream`, with what is said of its log or without."""

    def __init__(self, upstream: str, with_log: bool):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        self.url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        context = multiprocessing.get_context("fork")
        self.counted = context.Value("i", 0)
        self.process = context.Process(
            target=serve, args=(listener, upstream, with_log, self.counted), daemon=True)
        self.process.start()
        listener.close()

    def requests(self) -> int:
        """How many there were since this was last asked."""
        with self.counted.get_lock():
            count, self.counted.value = self.counted.value, 0
        return count

    def close(self) -> None:
        self.process.terminate()
        self.process.join()


def serve(listener, upstream: str, with_log: bool, counted) -> None:
    known = {}

    def relayed(method: str, path: str, body: bytes):
        key = (method, path, body)
        if key not in known:
            known[key] = ask(upstream, with_log, method, path, body)
        with counted.get_lock():
            counted.value += 1
        return known[key]

    asyncio.run(accept(listener, relayed))


def ask(upstream: str, with_log: bool, method: str, path: str, body: bytes):
    """The status, media type and body of an answer."""
    if not with_log and path.startswith("/v1/log"):
        return 404, "application/problem+json", b'{"code":"not_found","title":"not found","status":404}'
    request = urllib.request.Request(upstream + path, data=body or None, method=method)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request) as answer:
            status, kind, found = answer.status, answer.headers["content-type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read()
    if not with_log and path == "/v1/index":
        found = without_log(found)
    return status, kind, found


def without_log(index: bytes) -> bytes:
    answer = json.loads(index)
    answer.pop("views", None)
    for document in answer["documents"]:
        for version in document["versions"]:
            version.pop("log_index", None)
    return json.dumps(answer, separators=(",", ":")).encode()


async def accept(listener, relayed) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: answer(reader, writer, relayed), sock=listener, limit=65536)
    async with server:
        await server.serve_forever()


async def answer(reader, writer, relayed) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split("\r\n", 1)[0].split(" ")
            length = 0
            for line in head.split("\r\n")[1:]:
                name, _, value = line.partition(":")
                if name.lower() == "content-length":
                    length = int(value)
            body = await reader.readexactly(length)
            status, kind, found = relayed(method, path, body)
            writer.write(
                f"HTTP/1.1 {status} OK\r\ncontent-type: {kind}\r\n"
                f"content-length: {len(found)}\r\n\r\n".encode("latin-1") + found
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
