"""``incoref mcp`` as a real process, asked by the official client over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the package 'mcp' (extra 'mcp')")

from mcp import Client, StdioServerParameters

COMMAND = ["-m", "incoref", "mcp"]


def over_stdio(folder: Path, use: Callable[[Client], Awaitable[None]]) -> None:
    """Start a server, use it, end it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    server = StdioServerParameters(command=sys.executable, args=[*COMMAND, "--folder", str(folder)], env=environment)

    async def run() -> None:
        async with Client(server) as client:
            await use(client)

    asyncio.run(run())


def said(entity: dict[str, Any]) -> list[str]:
    return [mention["text"] for mention in entity["mentions"]]


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return (
        json.loads(result.content[0].text)
        if len(result.content) == 1
        else [json.loads(c.text) for c in result.content]
    )


def test_an_agent_keeps_its_memory_over_stdio(tmp_path: Path) -> None:
    async def first(client: Client) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {
            *("open_session", "add_text", "who_is_who", "resolve_text", "introduce", "rename", "merge", "detach"),
            *("forget_entity", "forget_session"),
        }
        assert (await call(client, "open_session", session="s1"))["known"] is False
        text = "Anna Kern founded Helio in Berlin in 2014."
        assert (await call(client, "add_text", session="s1", text=text, id="1"))["text"] == text
        answer = await call(client, "add_text", session="s1", text="Her office is still there.", id="2")
        assert answer["text"] == "Anna Kern's office is still there."
        assert answer["decisions"][0]["reason"] == "named"
        whole = await call(client, "resolve_text", text=f"{text} Her office is still there.", style="brackets")
        assert whole["text"] == f"{text} Her [Anna Kern's] office is still there."

    async def second(client: Client) -> None:
        assert (await call(client, "open_session", session="s1"))["chunks"] == 2
        people = await client.call_tool("who_is_who", {"session": "s1"})
        anna = next(one for one in people.structured_content["result"] if one["name"] == "Anna Kern")
        assert said(anna) == ["Anna Kern", "Her"]
        places = {name: anna["mentions"][1][name] for name in ("start", "end")}
        hers = await call(client, "detach", session="s1", **places)
        assert (hers["id"] != anna["id"], said(hers)) == (True, ["Her"])
        wrong = await client.call_tool("detach", {"session": "s1", "start": 0, "end": 1})
        assert wrong.is_error
        assert said(await call(client, "merge", session="s1", entity=anna["id"], other=hers["id"])) == said(anna)
        renamed = await call(client, "rename", session="s1", entity=anna["id"], name="Anna Kern-Weber")
        assert renamed["name"] == "Anna Kern-Weber"
        page = await client.read_resource("incoref://sessions/s1/entities")
        assert "Anna Kern-Weber" in [one["name"] for one in json.loads(page.contents[0].text)]
        berlin = next(one for one in json.loads(page.contents[0].text) if one["name"] == "Berlin")
        merged = await call(client, "merge", session="s1", entity=anna["id"], other=berlin["id"])
        assert "Berlin" in said(merged)
        await call(client, "forget_entity", session="s1", entity=anna["id"])
        wrong = await client.call_tool("rename", {"session": "s1", "entity": anna["id"], "name": "Eva"})
        assert wrong.is_error
        assert "no entity" in wrong.content[0].text
        await call(client, "introduce", session="s1", name="Mira", speaker="mira")
        await call(client, "forget_session", session="s1")
        wrong = await client.call_tool("add_text", {"session": "s1", "text": "She left."})
        assert "open it with open_session" in wrong.content[0].text
        with pytest.raises(Exception, match="no session 's1'"):
            await client.read_resource("incoref://sessions/s1/entities")

    over_stdio(tmp_path, first)
    assert [path.name for path in tmp_path.iterdir()] == ["s1.incoref"]
    over_stdio(tmp_path, second)
    assert list(tmp_path.iterdir()) == []


def test_the_same_over_http() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *COMMAND, "--http", "--port", str(port)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            _wait_for(port, server)

            async def use() -> None:
                async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                    await call(client, "open_session", session="talk", speakers=True)
                    answer = await call(client, "add_text", session="talk", text="I was late.", speaker="Anna")
                    assert answer["text"] == "Anna was late."
                    wrong = await client.call_tool("open_session", {"session": "../etc"})
                    assert "can't name a session" in wrong.content[0].text

            asyncio.run(use())
        finally:
            server.terminate()
            server.communicate()


def _wait_for(port: int, server: subprocess.Popen[str]) -> None:
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not start: {server.communicate()[1]}")
