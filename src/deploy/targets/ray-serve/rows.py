"""What app.py does with the tensors of rows: it reads them from requests of the Open Inference Protocol (v2), in JSON or binary,
and writes answers."""

import asyncio
import json
import struct

import numpy as np
from starlette.responses import JSONResponse, Response

HEADER = "inference-header-content-length"


class Row(dict):
    """The tensors of a row by their keys, and what became of it."""

    waited_s, answered_by, certainty = 0, None, None


class Refused(Exception):
    """A request that is answered by a status and an error instead of outputs."""

    def __init__(self, status, error, **more):
        super().__init__(error)
        self.status, self.body = status, {"error": error} | more


def numpy_type(datatype):
    """FP32 is float32, UINT8 uint8, BOOL bool, and text an object."""
    named = {"BOOL": "bool", "BYTES": "object"}.get(datatype, datatype.replace("FP", "float").lower())
    return np.dtype(named)


def split_rows(value, axis, count):
    """The rows of a tensor; one that has no axis for them is the same for all."""
    return [value] * count if axis is None else np.split(value, count, axis)


def join_rows(rows, axis):
    return rows[0] if axis is None else np.concatenate(rows, axis)


def described(name, model):
    """What GET /v2/models/<name> says of a model's tensors."""
    tensors = {of: [{key: one[key] for key in ("name", "datatype", "shape")} for one in model[of]] for of in ("inputs", "outputs")}
    return {"name": name, "versions": ["1"], "platform": "onnxruntime_onnx"} | tensors


def from_bytes(data, datatype, shape):
    if datatype != "BYTES":
        return np.frombuffer(data, numpy_type(datatype)).reshape(shape)
    texts, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + length].decode())
        at += 4 + length
    return np.array(texts, object).reshape(shape)


def to_bytes(value):
    if value.dtype != object:
        return value.tobytes()
    return b"".join(struct.pack("<I", len(text)) + text for text in (str(one).encode() for one in value.flat))


def read_tensor(tensor, known, binary):
    """Gives a tensor's value, or raises what is wrong with it."""
    if known["datatype"] != tensor.get("datatype"):
        raise ValueError(f"it is {tensor.get('datatype')}, and the model takes {known['datatype']}")
    if binary is None:
        value = np.array(tensor["data"], numpy_type(known["datatype"])).reshape(tensor["shape"])
    else:
        value = from_bytes(binary, known["datatype"], tensor["shape"])
    # A size of -1 is one of rows, or one that differs from request to request.
    if value.ndim != len(known["shape"]) or any(wanted not in (-1, size) for wanted, size in zip(known["shape"], value.shape)):
        raise ValueError(f"it has the shape {list(value.shape)}, and the model takes {known['shape']}")
    return value


def read_request(model, body, head_bytes):
    """Gives a request's JSON and its rows, each with its tensors by key, or refuses it with all that is wrong."""
    known, tensors, faults, counts = {one["name"]: one for one in model["inputs"]}, {}, [], set()
    try:
        at = len(body) if head_bytes is None else int(head_bytes)
        asked = json.loads(body[:at])
        given = [(tensor["name"], tensor, (tensor.get("parameters") or {}).get("binary_data_size")) for tensor in asked["inputs"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(400, f"Cannot read the request: it is no inference request ({error})")
    for name, tensor, size in given:
        binary, at = (None, at) if size is None else (body[at : at + size], at + size)
        if name not in known:
            faults.append(f"there is no input {name!r}; there are {', '.join(known)}")
            continue
        try:
            tensors[name] = read_tensor(tensor, known[name], binary)
        except (ValueError, KeyError, TypeError, OverflowError, struct.error) as error:
            faults.append(f"the input {name} cannot be read: {error}")
            continue
        if known[name]["axis"] is not None:
            rows, left = divmod(tensors[name].shape[known[name]["axis"]], known[name]["row_size"])
            counts.add(rows if left == 0 else 0)
    faults += [f"the input {name} is missing" for name in known if name not in (one for one, _, _ in given)]
    if len(counts) > 1 or not all(1 <= count <= model["max_rows"] for count in counts):
        faults.append(f"it has {sorted(counts)} rows, and all inputs must have as many, at most {model['max_rows']}")
    names = [one["name"] for one in model["outputs"]]
    wanted = [out.get("name") for out in asked.get("outputs") or []]
    faults += [f"there is no output {name!r}; there are {', '.join(names)}" for name in wanted if name not in names]
    if faults:
        raise Refused(400, "Cannot infer: " + "; ".join(faults))
    count = next(iter(counts), 1)
    split = {known[name]["key"]: split_rows(value, known[name]["axis"], count) for name, value in tensors.items()}
    return asked, [Row((key, rows[i]) for key, rows in split.items()) for i in range(count)]


def answer(name, model, asked, rows):
    """Writes the answer: outputs of branches that no row took are listed in not_taken; where only some did, they say which."""
    all_binary = (asked.get("parameters") or {}).get("binary_data_output", False)
    wanted = asked.get("outputs") or [{"name": one["name"]} for one in model["outputs"]]
    known, outputs, parameters, binary, left = {one["name"]: one for one in model["outputs"]}, [], {}, [], []
    for output in wanted:
        spec = known[output["name"]]
        having = [i for i, row in enumerate(rows) if spec["key"] in row]
        if not having:
            left.append(spec["name"])
            continue
        values = [rows[i][spec["key"]] for i in having]
        value = join_rows(values, spec["axis"])
        written = {"name": spec["name"], "shape": list(value.shape), "datatype": spec["datatype"]}
        told = {"rows": having} if len(having) < len(rows) else {}
        if (output.get("parameters") or {}).get("binary_data", all_binary):
            binary.append(to_bytes(value))
            told["binary_data_size"] = len(binary[-1])
        else:
            written["data"] = value.ravel().tolist()
        outputs.append(written | ({"parameters": told} if told else {}))
    if left:
        parameters["not_taken"] = left
    for key in ("answered_by", "certainty"):
        values = [getattr(row, key) for row in rows]
        if values[0] is not None:
            parameters[key] = values[0] if len(rows) == 1 else values
    echoed = {"id": asked["id"]} if "id" in asked else {}
    body = {"model_name": name, "model_version": "1"} | echoed | {"outputs": outputs} | ({"parameters": parameters} if parameters else {})
    if not binary:
        return JSONResponse(body)
    head = json.dumps(body).encode()
    return Response(head + b"".join(binary), 200, {HEADER: str(len(head))}, "application/octet-stream")


async def every(tasks):
    """Waits for all; where one fails, the others are cancelled."""
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
