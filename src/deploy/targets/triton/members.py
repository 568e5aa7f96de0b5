"""What a Python model of this repository needs to call others: it gives their outputs, and tells a drop as a drop."""

import asyncio
import json
import time
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb

# A Triton without GPUs has no choice of memory.
MEMORY = {"preferred_memory": pb.PreferredMemory(pb.TRITONSERVER_MEMORY_CPU, 0)} if hasattr(pb, "PreferredMemory") else {}

# What a queue says of a request that it drops: called from Python, Triton (2.51) gives such an error the code of any other.
DROPS = ("Request timeout expired", "Exceeds maximum queue size")


class Dropped(Exception):
    """A request that cannot be answered by its deadline. Clients are told 503, so that they know it from a fault."""


class Front:
    """A Python model: one of walk() of its kind, for each request that Triton hands over."""

    def initialize(self, args):
        self.args = json.loads((Path(__file__).parent / "routes.json").read_text())
        self.parameters = {key: one["string_value"] for key, one in json.loads(args["model_config"])["parameters"].items()}
        self.begin()

    def begin(self):
        pass

    async def execute(self, requests):
        return await asyncio.gather(*[self.answer(request) for request in requests])

    async def answer(self, request):
        deadline = time.monotonic() + self.args["slo_ms"] / 1e3
        try:
            given = {one["name"]: pb.get_input_tensor_by_name(request, one["name"]).as_numpy() for one in self.args["inputs"]}
            outputs = await self.walk(given, deadline)
            return pb.InferenceResponse([pb.Tensor(name, value) for name, value in outputs.items()])
        except Dropped as dropped:
            return pb.InferenceResponse(error=pb.TritonError(str(dropped), pb.TritonError.UNAVAILABLE))
        except Exception as error:  # The client is told, and the next request is served.
            return pb.InferenceResponse(error=pb.TritonError(f"Cannot infer: {error}", pb.TritonError.INTERNAL))


async def call(model, feeds, outputs, deadline):
    """Gives the outputs of a model by name. Its queue drops the request where it would begin after the deadline."""
    left_us = int(1e6 * (deadline - time.monotonic()))
    if left_us <= 0:
        raise Dropped(f"Dropped at {model}: it could not be answered by its deadline")
    inputs = [pb.Tensor(name, np.ascontiguousarray(value)) for name, value in feeds.items()]
    asked = {"model_name": model, "inputs": inputs, "requested_output_names": outputs}
    response = await pb.InferenceRequest(**asked, timeout=left_us, **MEMORY).async_exec()
    if response.has_error():
        error = response.error()
        if error.code() == pb.TritonError.UNAVAILABLE or any(drop in error.message() for drop in DROPS):
            raise Dropped(f"Dropped at {model}: {error.message()}")
        raise RuntimeError(f"{model}: {error.message()}")
    return {name: pb.get_output_tensor_by_name(response, name).as_numpy() for name in outputs}
