"""The official Python client of MCP with its own OAuth provider, given an address and nothing else.

Takes one command a line (`list`, `expire`, `call` with JSON) and answers one line of JSON. `{"ask": url}` wants its person
to open an address in a browser, which comes back to a port of this machine.
"""

import asyncio
import json
import socket
import sys
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.types import ElicitResult

resolve = socket.getaddrinfo


def resolve_here(host, *rest, **more):
    """Names below localhost mean this machine (RFC 6761, section 6.3)."""
    name = host.decode() if isinstance(host, bytes) else host
    return resolve("127.0.0.1" if name and name.endswith(".localhost") else host, *rest, **more)


socket.getaddrinfo = resolve_here


def say(**answer):
    print(json.dumps(answer), flush=True)


class Memory:
    """Keeps tokens as a desktop program does on its disk."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def main(address):
    answers = asyncio.Queue()

    async def receive(reader, writer):
        target = (await reader.readline()).decode().split(" ")[1]
        query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nGo back to the program.")
        await writer.drain()
        writer.close()
        if "code" in query or "error" in query:
            await answers.put(query)

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def ask(url):
        say(ask=url)

    async def come_back():
        query = await answers.get()
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    memory = Memory()
    provider = OAuthClientProvider(
        server_url=address,
        client_metadata=OAuthClientMetadata(
            client_name="Python client",
            redirect_uris=[f"http://127.0.0.1:{port}/callback"],
            token_endpoint_auth_method="none",
        ),
        storage=memory,
        redirect_handler=ask,
        callback_handler=come_back,
    )

    async def tools():
        async with create_mcp_http_client(auth=provider) as http:
            async with Client(streamable_http_client(address, http_client=http)) as client:
                return sorted(tool.name for tool in (await client.list_tools()).tools)

    async def call(mode, tool, arguments, ok):
        """Calls a tool at a revision, with what the person ticks in a form that is shown."""
        asked = []

        async def show(context, params):
            asked.append(params.message)
            return ElicitResult(action="accept", content={"ok": ok})

        async with create_mcp_http_client(auth=provider) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=show) as client:
                result = await client.call_tool(tool, arguments)
                said = result.content[0].text if result.content else None
                return {"asked": asked, "refused": bool(result.is_error), "said": said}

    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while command := (await lines.readline()).decode().strip():
        try:
            if command == "list":
                say(tools=await tools(), access=memory.tokens.access_token)
            elif command.startswith("call "):
                say(**await call(**json.loads(command.removeprefix("call "))))
            elif command == "expire":
                provider.context.token_expiry_time = 1
                say(expired=True)
        except Exception as error:
            say(failed=f"{type(error).__name__}: {error}")


asyncio.run(main(sys.argv[1]))
