"""Ray Serve's own way to serve the uncut model, which bench/ray.ts sets beside a plan: one deployment of the whole model,
replicas by Ray's default autoscaling, and batches by @serve.batch. A replica takes a device of the cluster, whichever is free
when it starts, and sleeps for as long as the whole model takes there."""

import fcntl
import time
from pathlib import Path

import numpy as np
from ray import serve
from starlette.responses import JSONResponse

from rows import Refused, answer, described, read_request

BATCH = 2


def build(args):
    return serve.deployment(Uncut, name="uncut", num_replicas="auto").bind(args)


class Uncut:
    def __init__(self, args):
        self.model, self.name = args["model"], args["name"]
        self.device = self.lock = None
        for device in args["devices"]:
            lock = Path(device["lock"]).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self.device, self.lock = device, lock  # The lock is held for as long as the process lives.
            return
        raise RuntimeError("no device is free")

    @serve.batch(max_batch_size=BATCH)
    async def run(self, rows):
        time.sleep(self.device["latency_ms"][len(rows) - 1] / 1e3)
        out = self.model["outputs"][0]
        shape = [1, *out["shape"][1:]]
        return [row | {out["key"]: np.zeros(shape, np.float32)} for row in rows]

    async def __call__(self, request):
        if request.url.path.endswith("/infer"):
            try:
                asked, rows = read_request(
                    self.model, await request.body(), request.headers.get("inference-header-content-length")
                )
            except Refused as refused:
                return JSONResponse(refused.body, refused.status)
            row = rows[0]
            row.update(await self.run(row))
            return answer(self.name, self.model, asked, [row])
        if request.url.path.endswith("/index"):
            return JSONResponse([{"name": self.name, "version": "1", "state": "READY"}])
        if request.url.path.endswith("/v2"):
            return JSONResponse({"name": "uncut", "version": "1", "extensions": ["binary_tensor_data"]})
        return JSONResponse(described(self.name, self.model))
