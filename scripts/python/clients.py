"""Asks a server for what tritonclient asks of Triton, and checks what it reads. Usage: clients.py <host>:<port>"""
import sys

import numpy as np
from tritonclient.http import InferInput, InferRequestedOutput, InferenceServerClient
from tritonclient.utils import InferenceServerException

client = InferenceServerClient(sys.argv[1])
x = np.arange(16, dtype=np.float32).reshape(2, 8) / 8
asked = 0


def infer(model, name, values, binary_in=True, binary_out=True, **options):
    global asked
    asked += 1
    datatype = "INT64" if values.dtype == np.int64 else "FP32"
    given = InferInput(name, list(values.shape), datatype)
    given.set_data_from_numpy(values, binary_data=binary_in)
    outputs = options.pop("outputs", [InferRequestedOutput("y", binary_data=binary_out)])
    return client.infer(model, [given], outputs=outputs, **options).as_numpy("y")


def refused(words, *args, **options):
    try:
        infer(*args, **options)
    except InferenceServerException as error:
        assert words in str(error), f"{words!r} is not in {error}"
    else:
        raise AssertionError(f"it was answered, and not refused with {words!r}")


assert client.is_server_ready() and client.is_model_ready("dense")
assert client.get_model_config("dense")["max_batch_size"] > 0
expected = infer("dense", "x", x)
found = infer("lookup", "ids", np.array([[0, 5]], dtype=np.int64))
assert expected.shape == (2, 8) and found.shape == (1, 2, 3)
for algorithm in (None, "gzip", "deflate"):
    for binary_in in (True, False):
        for binary_out in (True, False):
            options = {
                "request_compression_algorithm": algorithm,
                "response_compression_algorithm": algorithm,
                "binary_in": binary_in,
                "binary_out": binary_out,
            }
            assert np.allclose(infer("dense", "x", x, **options), expected, atol=1e-6), options
            ids = np.array([[0, 5]], dtype=np.int64)
            assert np.allclose(infer("lookup", "ids", ids, **options), found), options
assert np.allclose(infer("dense", "x", x, outputs=None), expected, atol=1e-6)
assert np.allclose(infer("dense", "x", x, priority=1, timeout=10_000_000), expected, atol=1e-6)

long = np.array([[0, 2**53 + 1]], dtype=np.int64)
for binary_in in (True, False):
    refused("9007199254740993", "lookup", "ids", long, binary_in=binary_in)
shared = InferRequestedOutput("y")
shared.set_shared_memory("region", 64)
refused("shared_memory_region", "dense", "x", x, outputs=[shared])
refused("classification", "dense", "x", x, outputs=[InferRequestedOutput("y", class_count=2)])
refused("sequence_id", "dense", "x", x, sequence_id=3)
refused("of_mine", "dense", "x", x, parameters={"of_mine": 1})

models = client.get_inference_statistics()["model_stats"]
assert sorted(model["name"] for model in models) == ["dense", "lookup"]
for model in models:
    assert client.get_inference_statistics(model["name"])["model_stats"] == [model]
    stats = model["inference_stats"]
    parts = [stats[part] for part in ("queue", "compute_input", "compute_infer", "compute_output")]
    assert {part["count"] for part in parts} == {stats["success"]["count"]}, stats
    assert abs(sum(part["ns"] for part in parts) - stats["success"]["ns"]) <= len(parts), stats
counted = sum(model["inference_stats"][end]["count"] for model in models for end in ("success", "fail"))
assert counted == asked, f"{counted} requests were counted, and {asked} were sent"
print(f"tritonclient was answered as by Triton in {asked} requests")
