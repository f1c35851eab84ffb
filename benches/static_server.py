"""A server of pages from memory on loopback, in a process of its own, as quick as Python allows.

What the other tools install is served by it; it does nothing but find a path in a dictionary, so
that the time measured is the tool's.
"""

import asyncio
import multiprocessing
import socket


class StaticServer:
    """Has a URL from the start; serves once it is given its pages, a dictionary of path to bytes."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(256)
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.process = None

    def start(self, pages: dict) -> None:
        self.process = multiprocessing.get_context("fork").Process(
            target=serve, args=(self.socket, pages), daemon=True)
        self.process.start()

    def close(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.join()
        self.socket.close()


def serve(listener, pages: dict) -> None:
    asyncio.run(accept(listener, pages))


async def accept(listener, pages: dict) -> None:
    server = await asyncio.start_server(lambda r, w: answer(r, w, pages), sock=listener, limit=65536)
    async with server:
        await server.serve_forever()


async def answer(reader, writer, pages: dict) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            line = head.split(b"\r\n", 1)[0].split(b" ")
            path = line[1].decode().split("?")[0]
            body = pages.get(path)
            status = b"200 OK" if body is not None else b"404 Not Found"
            kind = media_type(path)
            body = body or b""
            writer.write(
                b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
                % (status, kind, len(body)) + (b"" if line[0] == b"HEAD" else body)
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def media_type(path: str) -> bytes:
    if path.startswith("/simple/"):
        return b"text/html"
    if path.endswith((".tgz", ".whl")):
        return b"application/octet-stream"
    return b"application/json"
