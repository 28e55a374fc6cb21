"""A server in a process of its own that speaks OpenAI's batches, holds to their limits, and answers well."""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import BodyPartReader, web

from support.fast_server import PROACTBENCH, body

MOST_REQUESTS, MOST_BYTES = 50_000, 200 * 10**6
"""Of a file, as OpenAI has it."""


def application(folder: Path, polls: int) -> web.Application:  # noqa: C901 - one short function a path
    """Files lie in a folder; a batch has ended at so many looks at it. `GET /bill` says what was submitted."""
    bodies = {role: json.loads(body(*answer)) for role, answer in PROACTBENCH.items()}
    batches = dict[str, dict[str, Any]]()
    sizes, names = list[int](), set[str]()

    async def upload(request: web.Request) -> web.Response:
        number = len([*folder.iterdir()]) + 1
        reader = await request.multipart()
        while isinstance(part := await reader.next(), BodyPartReader):
            if part.name == "file":
                with (folder / str(number)).open("wb") as file:
                    while piece := await part.read_chunk(2**20):
                        file.write(piece)
        return web.json_response({"id": f"file-{number}"})

    async def create(request: web.Request) -> web.Response:
        file = (await request.json())["input_file_id"]
        path = folder / file.removeprefix("file-")
        with path.open("rb") as lines:
            ids = [re.search(rb'"custom_id": "(\w+)"', line[:200]) for line in lines]
        if len(ids) > MOST_REQUESTS or path.stat().st_size > MOST_BYTES:
            return web.json_response({"error": {"message": "the file is too large"}}, status=400)
        names.update(name[1].decode() for name in ids if name)
        sizes.append(len(ids))
        batch = {"id": f"batch_{len(batches) + 1}", "status": "in_progress", "input_file_id": file}
        batches[batch["id"]] = batch | {"role": request.match_info["role"], "polls": 0}
        return web.json_response(batch)

    async def look(request: web.Request) -> web.Response:
        batch = batches[request.match_info["id"]]
        batch["polls"] += 1
        if batch["polls"] >= polls:
            batch |= {"status": "completed", "output_file_id": batch["id"]}
        return web.json_response(batch)

    async def results(request: web.Request) -> web.StreamResponse:
        batch = batches[request.match_info["id"]]
        tail = json.dumps({"status_code": 200, "body": bodies[batch["role"]]}).encode()
        response = web.StreamResponse()
        await response.prepare(request)
        with (folder / batch["input_file_id"].removeprefix("file-")).open("rb") as lines:
            for line in lines:
                name = re.search(rb'"custom_id": "\w+"', line[:200])
                assert name is not None, "every line has one"
                await response.write(b"{" + name[0] + b', "error": null, "response": ' + tail + b"}\n")
        return response

    async def bill(_: web.Request) -> web.Response:
        return web.json_response({"sizes": sizes, "names": len(names)})

    app = web.Application(client_max_size=2**30)
    app.router.add_post("/{role}/v1/files", upload)
    app.router.add_post("/{role}/v1/batches", create)
    app.router.add_get("/{role}/v1/batches/{id}", look)
    app.router.add_get("/{role}/v1/files/{id}/content", results)
    app.router.add_get("/bill", bill)
    return app


async def serve(polls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runner = web.AppRunner(application(Path(folder), polls))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.get_running_loop().create_future()


@contextmanager
def batches_served(polls: int = 2) -> Iterator[int]:
    """The port of a server in another process."""
    command = [
        sys.executable,
        "-c",
        f"import asyncio; from support.batch_server import serve; asyncio.run(serve({polls}))",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()
