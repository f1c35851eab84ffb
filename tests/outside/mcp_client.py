"""The official client of the Model Context Protocol talks to `skillpkg mcp`.

One argument: a file of JSON with `command`, `environment`, `project`, `url` and `token`. Every case
is driven over both transports and in both eras of the protocol; the first thing that is not as it
must be ends it with a traceback.
"""

import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import warnings
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client

# What the older era alone has is called on purpose.
warnings.simplefilter("ignore", DeprecationWarning)
warnings.filterwarnings("ignore", message="resources/subscribe is removed")

with open(sys.argv[1], encoding="utf-8") as given:
    GIVEN = json.load(given)
SKILLS = "io.modelcontextprotocol/skills"
TOOLS = [
    "reports-go",
    "waitlist-go",
    "waitlist-normalize",
    "waitlist-read_notes",
]


class Loose(types.Result):
    model_config = {"extra": "allow"}


class Anything(types.Request[dict[str, Any] | None, str]):
    method: str
    params: dict[str, Any] | None = None


def skillpkg(*arguments: str) -> None:
    subprocess.run(
        [GIVEN["command"], *arguments],
        cwd=GIVEN["project"],
        env=GIVEN["environment"],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@asynccontextmanager
async def connected(transport: str, mode: str, answer: str | None = None, notices: list[str] | None = None):
    """A client; `answer` is what the person behind it says to every question, None for a client
    that cannot ask."""
    asked: list[str] = []

    async def on_elicit(_, params):
        asked.append(params.message)
        content = {"allow": True} if answer == "accept" else None
        return types.ElicitResult(action="accept" if answer == "bare" else answer, content=content)

    async def on_message(message):
        if notices is not None and hasattr(message, "method"):
            notices.append(message.method)

    options: dict[str, Any] = {
        "mode": mode,
        "cache": None,
        "read_timeout_seconds": 30,
        "message_handler": on_message,
        "extensions": [advertise(SKILLS)],
    }
    if answer:
        options["elicitation_callback"] = on_elicit
    if transport == "stdio":
        server = StdioServerParameters(
            command=GIVEN["command"], args=["mcp"], env=GIVEN["environment"], cwd=GIVEN["project"]
        )
        async with Client(server, **options) as client:
            client.asked = asked
            yield client
    else:
        headers = {"Authorization": f"Bearer {GIVEN['token']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            async with Client(streamable_http_client(GIVEN["url"], http_client=http), **options) as client:
                client.asked = asked
                yield client


async def code_of(awaitable) -> int:
    try:
        await awaitable
    except MCPError as error:
        return error.error.code
    raise AssertionError("no error")


async def ask(client, method: str, **params: Any) -> dict[str, Any]:
    answer = await client.session.send_request(Anything(method=method, params=params), Loose)
    return answer.model_dump(exclude_unset=True, by_alias=True)


def text_of(result) -> str:
    return "\n".join(block.text for block in result.content)


async def tools(client) -> None:
    assert client.server_info.name == "skillpkg"
    assert client.server_capabilities.extensions[SKILLS] == {"directoryRead": True}
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(listed) == TOOLS, listed
    go = listed["waitlist-go"]
    assert go.description == "goes" and go.annotations is None
    assert go.input_schema["properties"] == {"word": {"type": "string"}}
    assert go.input_schema["additionalProperties"] is False
    assert go.meta["dev.skillpkg/skill"] == "waitlist" and go.meta["dev.skillpkg/capability"] == "go"
    assert listed["waitlist-normalize"].input_schema["properties"]["rows"]["default"] == 5
    assert listed["waitlist-read_notes"].annotations.read_only_hint is True

    word = 'a b; touch x $(id) "'
    result = await client.call_tool("waitlist-go", {"word": word})
    assert not result.is_error and text_of(result).startswith(f"got {word}\n"), result
    assert result.meta["dev.skillpkg/argv"] == ["sh", "handle.sh", word]
    result = await client.call_tool("waitlist-go", {"word": "fail"})
    assert result.is_error and "exit code 3" in text_of(result) and result.meta["dev.skillpkg/exit"] == 3
    for wrong in ({}, {"word": "x", "other": 1}, {"word": ["x"]}):
        result = await client.call_tool("waitlist-go", wrong)
        assert result.is_error and "word" in text_of(result) + str(wrong), result
    assert await code_of(client.call_tool("none-go", {})) == -32602
    result = await client.call_tool("waitlist-read_notes", {})
    assert text_of(result) == "Every row has an id.\n"


async def permission(transport: str, mode: str) -> None:
    for answer, runs in (("accept", True), ("decline", False), ("bare", False), ("cancel", False), (None, False)):
        async with connected(transport, mode, answer) as client:
            result = await client.call_tool("waitlist-normalize", {"file": "x"})
            assert result.is_error is not runs, (answer, result)
            if runs:
                assert text_of(result) == '{"file":"x","rows":5}', result
                # A question for each call, and one for this one.
                await client.call_tool("waitlist-normalize", {"file": "y"})
                assert len(client.asked) == 2 and '"file":"y"' in client.asked[1]
                assert "process `sh`" in client.asked[0] and "sha256:" in client.asked[0]
            else:
                assert result.meta["dev.skillpkg/code"] == "permission_denied", result
            if answer is None:
                assert "--allow waitlist:normalize" in text_of(result)
            # What cannot be run is told before anybody is asked.
            before = len(client.asked)
            result = await client.call_tool("waitlist-normalize", {"file": "x", "rows": 10})
            assert result.is_error and result.meta["dev.skillpkg/code"] == "number_out_of_range"
            assert len(client.asked) == before


async def invented_answers(client) -> None:
    """What a client brings back is no permission unless it was asked for."""
    yes = {"permission": {"action": "accept", "content": {"allow": True}}}
    arguments = {"name": "waitlist-normalize", "arguments": {"file": "x"}}
    for state in ("", "0" * 32):
        code = await code_of(ask(client, "tools/call", **arguments, inputResponses=yes, requestState=state))
        assert code == -32602
    asked = await ask(client, "tools/call", **arguments)
    state = asked["requestState"]
    other = {"name": "waitlist-normalize", "arguments": {"file": "other"}}
    assert await code_of(ask(client, "tools/call", **other, inputResponses=yes, requestState=state)) == -32602
    # It was used up by the attempt.
    assert await code_of(ask(client, "tools/call", **arguments, inputResponses=yes, requestState=state)) == -32602
    state = (await ask(client, "tools/call", **arguments))["requestState"]
    done = await ask(client, "tools/call", **arguments, inputResponses=yes, requestState=state)
    assert done["content"][0]["text"] == '{"file":"x","rows":5}', done
    assert await code_of(ask(client, "tools/call", **arguments, inputResponses=yes, requestState=state)) == -32602


async def cancelled(client) -> None:
    place = os.path.join(GIVEN["project"], "pid")
    if os.path.exists(place):
        os.remove(place)
    with anyio.move_on_after(5):
        async with anyio.create_task_group() as group:
            async def slow():
                await client.call_tool("waitlist-go", {"word": "slow"})
            group.start_soon(slow)
            while not os.path.exists(place) or not os.path.getsize(place):
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
    with open(place, encoding="utf-8") as file:
        pid = int(file.read())
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await anyio.sleep(0.05)
    raise AssertionError("what was called off still runs")


async def resources(client) -> None:
    listed = {one.uri: one for one in (await client.list_resources()).resources}
    assert "skill://acme/reports/SKILL.md" in listed and "skill://_/waitlist/references/a%20b.bin" in listed
    for uri, one in listed.items():
        contents = (await client.read_resource(uri)).contents[0]
        text = getattr(contents, "text", None)
        data = base64.b64decode(contents.blob) if text is None else text.encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        assert one.meta["dev.skillpkg/digest"] == contents.meta["dev.skillpkg/digest"] == digest, uri
        assert one.size == len(data)
    bytes_of = (await client.read_resource("skill://_/waitlist/references/a%20b.bin")).contents[0]
    assert bytes_of.mime_type == "application/octet-stream" and bytes_of.blob
    older = client.protocol_version < "2026-07-28"
    for uri in (
        "skill://_/waitlist/none.md",
        "skill://_/waitlist/references/a b.bin",
        "skill://_/waitlist/../guide/SKILL.md",
        "skill://waitlist/SKILL.md",
        "file:///etc/passwd",
    ):
        assert await code_of(client.read_resource(uri)) == (-32002 if older else -32602), uri
    templates = (await client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == ["skill://{scope}/{name}/{+path}"]

    prompts = {one.name: one for one in (await client.list_prompts()).prompts}
    assert sorted(prompts) == ["guide", "reports", "wait_list", "waitlist"]
    prompt = await client.get_prompt("waitlist", {"task": "Do it."})
    first, second = (message.content.text for message in prompt.messages)
    assert first.startswith("Manage it.") and "- `go`: `waitlist-go`" in first and second == "Do it."
    assert await code_of(client.get_prompt("none")) == -32602


async def skills(client) -> None:
    answer = await ask(client, "skills/list")
    assert answer["ttlMs"] == 0 and answer["cacheScope"] == "private"
    listed = {one["uri"]: one for one in answer["skills"]}
    # A name with `_` is none to Agent Skills, and `reports` has no `name`.
    assert sorted(listed) == ["skill://_/guide/SKILL.md", "skill://_/waitlist/SKILL.md"], listed
    guide = listed["skill://_/guide/SKILL.md"]
    assert guide["frontmatter"] == {
        "name": "guide",
        "description": "Tells how.",
        "metadata": {"version": "1.0.0", "level": 2, "beta": True, "ratio": 0.5, "author": None},
    }
    for uri, skill in listed.items():
        one = await ask(client, "skills/get", uri=uri)
        assert one["skill"] == skill and one["ttlMs"] == 0
        for file in skill["resources"]:
            contents = (await client.read_resource(file["uri"])).contents[0]
            text = getattr(contents, "text", None)
            data = base64.b64decode(contents.blob) if text is None else text.encode()
            assert file["digest"] == "sha256:" + hashlib.sha256(data).hexdigest()
            assert file["size"] == len(data)
    for uri in ("skill://_/none/SKILL.md", "skill://_/waitlist", "skill://_/wait_list/SKILL.md", "x"):
        assert await code_of(ask(client, "skills/get", uri=uri)) == -32602, uri
    assert await code_of(ask(client, "skills/get")) == -32602
    root = await ask(client, "resources/directory/read", uri="skill://_/waitlist")
    kinds = {one["name"]: one["mimeType"] for one in root["resources"]}
    assert kinds["references"] == "inode/directory" and kinds["waitlist"] == "text/markdown", kinds
    inner = await ask(client, "resources/directory/read", uri="skill://_/waitlist/references")
    assert [one["uri"] for one in inner["resources"]] == [
        "skill://_/waitlist/references/a%20b.bin",
        "skill://_/waitlist/references/notes.md",
    ]
    for uri in ("skill://_/waitlist/SKILL.md", "skill://_/waitlist/none", "skill://_"):
        assert await code_of(ask(client, "resources/directory/read", uri=uri)) == -32602, uri
    assert await code_of(ask(client, "no/such")) == -32601


async def changes(client, notices: list[str]) -> None:
    uri = "skill://acme/reports/SKILL.md"
    if client.protocol_version >= "2026-07-28":
        events = []
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[uri],
        ) as subscription:
            skillpkg("deactivate", "acme/reports")
            with anyio.fail_after(10):
                async for event in subscription:
                    events.append(type(event).__name__)
                    if len(events) == 4:
                        break
        assert sorted(events) == [
            "PromptsListChanged",
            "ResourceUpdated",
            "ResourcesListChanged",
            "ToolsListChanged",
        ], events
        # Over HTTP the client sends it without a header that goes with it.
        code = await code_of(client.subscribe_resource(uri))
        assert code in (-32601, -32020), code
    else:
        await client.subscribe_resource(uri)
        assert await code_of(client.subscribe_resource("skill://_/none/SKILL.md")) == -32002
        notices.clear()
        skillpkg("deactivate", "acme/reports")
        with anyio.fail_after(10):
            while len(notices) < 4:
                await anyio.sleep(0.05)
        assert sorted(notices) == [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ], notices
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == [name for name in TOOLS if name != "reports-go"]
    assert await code_of(client.call_tool("reports-go", {})) == -32602
    skillpkg("activate", "acme/reports", "-y")
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == TOOLS


async def main() -> None:
    for transport in ("stdio", "http"):
        for mode in ("auto", "legacy"):
            notices: list[str] = []
            async with connected(transport, mode, notices=notices) as client:
                assert (client.protocol_version >= "2026-07-28") is (mode == "auto")
                await tools(client)
                await resources(client)
                await skills(client)
                await cancelled(client)
                await changes(client, notices)
            await permission(transport, mode)
            if mode == "auto":
                async with connected(transport, mode, "accept") as client:
                    await invented_answers(client)
            print(f"passed: {transport} {mode}", flush=True)


asyncio.run(main())
