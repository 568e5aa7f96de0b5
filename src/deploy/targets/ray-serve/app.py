"""Serves a plan of inferplan on Ray Serve: `serve deploy serve_config.yaml` calls build() with the args of that file.

An Ingress speaks the Open Inference Protocol (v2) over HTTP, and takes each row of a request from stage to stage. A Group
holds devices that are alike: each of its replicas is one device, which runs one batch at a time, takes what waits when the
last batch has ended, and drops rows that cannot be in time any more. What differs between plans of one kind is in
serve_config.yaml: batches, shares, SLOs and gears in user_config, so that changing them keeps replicas and requests.
"""

import asyncio
import contextlib
import os
import time
from collections import deque
from pathlib import Path

import numpy as np
from ray import serve
from ray.exceptions import RayActorError
from starlette.responses import JSONResponse

from rows import Refused, answer, described, every, join_rows, numpy_type, read_request, split_rows
from walk import Walk

PROVIDERS = {"cpu": "CPU", "cuda": "CUDA", "tensorrt": "Tensorrt", "dml": "Dml", "coreml": "CoreML", "webgpu": "WebGpu"}
TRIES, FLUSH_S, KEPT, NEVER = 2, 0.2, 10_000, float("inf")


def build(args):
    """Makes the application from the args of serve_config.yaml, which names the replicas and resources of each deployment."""
    counters = serve.deployment(Counters, name="counters").bind(args)
    groups = {
        name: serve.deployment(Group, name=name).bind(group, {one: args["stages"][one] for one in group["stages"]}, counters)
        for name, group in args["groups"].items()
    }
    return serve.deployment(Ingress, name="ingress").bind(args, groups, counters)


class Model:
    """The ONNX file of a stage on the devices of a group; INFERPLAN_EXECUTOR=sleep only takes as long as planned."""

    def __init__(self, stage, group):
        self.inputs, self.outputs, self.slowdown = stage["inputs"], stage["outputs"], group.get("slowdown", 1)
        # An emulated device slows down what it computes, and not the waits for a core.
        self.clock = time.perf_counter
        if group["provider"] == "cpu":
            self.clock = time.thread_time if group.get("threads") == 1 else time.process_time
        self.sleeps = os.environ.get("INFERPLAN_EXECUTOR") == "sleep"
        if self.sleeps:
            return
        import onnxruntime

        if group["provider"] != "cpu":
            # CUDA and cuDNN may be installed as wheels, where no loader looks.
            onnxruntime.preload_dlls()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = group.get("threads", 0), 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        wanted = PROVIDERS[group["provider"]] + "ExecutionProvider"
        file = Path(__file__).resolve().parent / stage["file"]
        self.session = onnxruntime.InferenceSession(str(file), options, providers=[wanted, "CPUExecutionProvider"])
        if wanted not in self.session.get_providers():
            raise RuntimeError(f"ONNX Runtime has no {wanted} on this node, which runs the class {group['class']}")

    def run(self, rows, planned_s):
        """Runs a batch of rows of the same shapes, and gives each row's outputs by name."""
        began = time.perf_counter()
        if self.sleeps:
            each = [np.zeros(out["shape"], numpy_type(out["datatype"])) for out in self.outputs]
            time.sleep(max(0, began + planned_s - time.perf_counter()))
            return [dict(zip((out["name"] for out in self.outputs), each))] * len(rows)
        feeds = {one["name"]: join_rows([row[one["name"]] for row in rows], one["axis"]) for one in self.inputs}
        computing = self.clock()
        values = self.session.run([out["name"] for out in self.outputs], feeds)
        time.sleep((self.slowdown - 1) * (self.clock() - computing))
        split = [split_rows(value, out["axis"], len(rows)) for value, out in zip(values, self.outputs)]
        return [{out["name"]: parts[i] for out, parts in zip(self.outputs, split)} for i in range(len(rows))]


class Group:
    """Devices that are alike; each replica is one of them."""

    def __init__(self, group, stages, counters):
        self.name, self.counters, self.gear, self.done, self.loops = group["name"], counters, 0, [], None
        self.models = {name: Model(stage, group) for name, stage in stages.items()}
        self.queues, self.woken = {name: deque() for name in stages}, asyncio.Event()

    def reconfigure(self, config):
        self.config = config

    async def run(self, stage, row, deadline, gear):
        """Gives a row's outputs, or what went wrong, and how long it waited; None where it was dropped."""
        self.loops = self.loops or [asyncio.create_task(self.serve()), asyncio.create_task(self.flush())]
        self.gear, ending = gear, asyncio.get_running_loop().create_future()
        self.queues[stage].append((row, deadline, time.time(), ending))
        self.woken.set()
        return await ending

    def ready_at(self, stage):
        """When a batch may start: once enough rows wait, all of it or as the gear says, or the first has waited for long enough."""
        queue, gears = self.queues[stage], self.config.get("gears")
        while queue and queue[0][3].done():
            queue.popleft()
        if not queue:
            return NEVER
        full = {"min_queue": {stage: self.config["stages"][stage]["batch"]}, "timeout_ms": self.config.get("gather_ms", 0)}
        gear = gears[min(self.gear, len(gears) - 1)] if gears else full
        return 0 if len(queue) >= gear["min_queue"].get(stage, 1) else queue[0][2] + gear["timeout_ms"] / 1e3

    def take(self, stage):
        """Takes rows up to the largest batch; drops those late even alone, and, while more wait, a first one late in a full batch."""
        planned, now, queue, batch = self.config["stages"][stage], time.time(), self.queues[stage], []
        while queue and len(batch) < planned["batch"]:
            crowded = not batch and len(queue) > planned["batch"]
            _, deadline, _, ending = task = queue.popleft()
            if not ending.done() and now + planned["full_ms" if crowded else "least_ms"] / 1e3 > deadline:
                ending.set_result(None)
            if not ending.done():
                batch.append(task)
        return batch

    async def serve(self):
        while True:
            try:
                await self.step()
            except Exception as error:  # Those that wait are told, and the next rows are served.
                for ending in [task[3] for queue in self.queues.values() for task in queue if not task[3].done()]:
                    ending.set_result((repr(error), 0))

    async def step(self):
        """Runs the batch that is due, or waits until one may be."""
        self.woken.clear()
        ready = {stage: self.ready_at(stage) for stage in self.queues}
        due = [stage for stage, at in ready.items() if at <= time.time()]
        if not due:
            left = min(ready.values()) - time.time()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.woken.wait(), None if left == NEVER else left)
            return
        stage, alike = min(due, key=lambda one: self.queues[one][0][1]), {}
        for task in self.take(stage):
            alike.setdefault(str([value.shape for value in task[0].values()]), []).append(task)
        for batch in alike.values():
            await self.execute(stage, batch)

    async def execute(self, stage, batch):
        began = time.time()
        try:
            planned_ms = self.config["stages"][stage]["latency_ms"]
            rows = await asyncio.to_thread(self.models[stage].run, [task[0] for task in batch], planned_ms[len(batch) - 1] / 1e3)
        except Exception as error:  # Its rows are told, and the next batch is served.
            rows = [f"{stage}: {error}"] * len(batch)
        self.done.append((stage, self.name, len(batch), 1e6 * (time.time() - began)))
        for (_, _, came, ending), row in zip(batch, rows):
            if not ending.done():
                ending.set_result((row, began - came))

    async def flush(self):
        while True:
            await asyncio.sleep(FLUSH_S)
            done, self.done = self.done, []
            try:
                if done:
                    await self.counters.executed.remote(done)
            except Exception:  # The counters may be starting again: tell them later.
                self.done = (done + self.done)[-KEPT:]


class Counters:
    """Adds up the batches and answers of all replicas, for `plan load` and `plan verify`."""

    def __init__(self, args):
        self.stages, self.groups, self.sequence, self.batches, self.requests = args["stages"], args["groups"], 0, {}, {}

    def executed(self, done):
        for stage, group, size, took_us in done:
            self.sequence += 1
            kept = self.batches.setdefault((stage, group, size), [0, deque(maxlen=KEPT)])
            kept[0] += 1
            kept[1].append((self.sequence, took_us))

    def answered(self, totals):
        for model, total in totals.items():
            self.requests[model] = [a + b for a, b in zip(total, self.requests.get(model, (0, 0, 0)))]

    def read(self, model, since):
        """Answers GET /v2/models/<model>/executions?since=<sequence>; times are of the batches after that."""
        executions = []
        for (stage, group, size), (count, kept) in sorted(self.batches.items()):
            if model in self.stages[stage]["models"]:
                took = [us for sequence, us in kept if sequence > since]
                times = {"p50_us": float(np.median(took)), "p95_us": float(np.quantile(took, 0.95))} if took else {}
                place = {"device_class": self.groups[group]["class"], "virtual": self.groups[group]["virtual"]}
                counted = {"batch_size": size, "executed": count, "measured": len(took)}
                executions.append(self.stages[stage]["place"] | place | counted | times)
        requests = dict(zip(("answered", "request_us", "queue_us"), self.requests.get(model, (0, 0, 0))))
        return {"sequence": self.sequence, "requests": requests, "executions": executions}


class Ingress:
    """Speaks the Open Inference Protocol, and takes the rows of requests through the stages."""

    def __init__(self, args, groups, counters):
        self.args, self.groups, self.counters, self.stages = args, groups, counters, args["stages"]
        self.totals, self.flusher, self.walk = {}, None, Walk(self)

    def reconfigure(self, config):
        self.config, self.credits = config, {}
        self.walk.reconfigure(config)

    def turn(self, key, shares):
        """Takes turns by shares (smooth weighted round robin)."""
        credit = self.credits.setdefault(key, dict.fromkeys(shares, 0))
        for one, share in shares.items():
            credit[one] += share
        chosen = max(credit, key=credit.get)
        credit[chosen] -= sum(shares.values())
        return chosen

    async def call(self, name, shares, row, deadline, gear=0):
        """Runs a stage for a row, and adds its outputs to the row's tensors. On a lost replica it is tried once more."""
        stage = self.stages[name]
        feeds = {one["name"]: next(row[key] for key in one["from"] if key in row) for one in stage["inputs"]}
        for left in reversed(range(TRIES)):
            try:
                done = await self.groups[self.turn((name, gear), shares)].run.remote(name, feeds, deadline, gear)
                break
            except RayActorError:
                if left == 0:
                    raise
        if done is None:
            said = f"Dropped at {name}: it could not be answered by its deadline"
            raise Refused(503, said, reason="deadline", place="queue", stage=name)
        outputs, waited_s = done
        if isinstance(outputs, str):
            raise Refused(500, f"Cannot infer: {outputs}")
        row.waited_s += waited_s
        row.update((out["key"], outputs[out["name"]]) for out in stage["outputs"])
        return outputs

    async def infer(self, name, request):
        came, body, model = time.time(), await request.body(), self.args["models"][name]
        asked, rows = read_request(model, body, request.headers.get("inference-header-content-length"))
        gear = self.walk.arrived(len(rows))
        deadline = came + self.config["models"][name]["slo_ms"] / 1e3
        await every([asyncio.ensure_future(self.walk.serve(name, row, deadline, gear)) for row in rows])
        waited_us = 1e6 * sum(row.waited_s for row in rows) / len(rows)
        total = zip(self.totals.get(name, (0, 0, 0)), (1, 1e6 * (time.time() - came), waited_us))
        self.totals[name] = [a + b for a, b in total]
        return answer(name, model, asked, rows)

    async def flush(self):
        while True:
            await asyncio.sleep(FLUSH_S)
            totals, self.totals = self.totals, {}
            with contextlib.suppress(Exception):  # Counters that start again have lost what they counted anyway.
                if totals:
                    await self.counters.answered.remote(totals)

    async def __call__(self, request):
        self.flusher = self.flusher or asyncio.create_task(self.flush())
        try:
            return await self.reply(request, request.method, path_below(request).strip("/").split("/"))
        except Refused as refused:
            return JSONResponse(refused.body, refused.status, {"retry-after": "1"} if refused.status == 503 else None)
        except Exception as error:
            return JSONResponse({"error": f"Cannot infer: {error}"}, 500)

    async def reply(self, request, method, path):
        models = self.args["models"]
        if path[:2] == ["v2", "models"] and path[2:3] and path[2] not in models:
            raise Refused(404, f"there is no model {path[2]!r}; there are {', '.join(models)}")
        if path[3:4] == ["versions"]:
            del path[3:5]
        match (method, *path):
            case ("GET", "v2"):
                return JSONResponse({"name": "inferplan on Ray Serve", "version": "1", "extensions": ["binary_tensor_data"]})
            case ("GET", "v2", "health", "live" | "ready" as which):
                return JSONResponse({which: True})
            case ("GET", "v2", "models"):
                return JSONResponse({"models": list(models)})
            case ("POST", "v2", "repository", "index"):
                return JSONResponse([{"name": name, "version": "1", "state": "READY"} for name in models])
            case ("GET", "v2", "models", name):
                properties = self.config["models"][name]["properties"] | {"plan_sha256": self.config["plan_sha256"]}
                return JSONResponse(described(name, models[name]) | {"properties": properties})
            case ("GET", "v2", "models", name, "ready"):
                return JSONResponse({"name": name, "ready": True})
            case ("GET", "v2", "models", name, "executions"):
                await asyncio.sleep(2 * FLUSH_S)
                counted = await self.counters.read.remote(name, int(request.query_params.get("since", 0)))
                return JSONResponse({"name": name, "plan_sha256": self.config["plan_sha256"]} | counted)
            case ("POST", "v2", "models", name, "infer"):
                return await self.infer(name, request)
        raise Refused(404, f"there is no {method} {path_below(request)}")


def path_below(request):
    """The path of a request below the route_prefix of the application."""
    return request.url.path.removeprefix(request.scope.get("root_path", ""))
