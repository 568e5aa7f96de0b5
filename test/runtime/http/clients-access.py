"""Asks a server with tokens and TLS by tritonclient. Usage: clients-access.py <host>:<port> <authority.pem> <token>"""
import ssl
import sys

import numpy as np
from tritonclient.http import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

url, authority, token = sys.argv[1:]
x = InferInput("x", [1, 16], "FP32")
x.set_data_from_numpy(np.ones((1, 16), dtype=np.float32))


def client(authority=authority):
    return InferenceServerClient(
        url, ssl=True, ssl_context_factory=lambda: ssl.create_default_context(cafile=authority)
    )


def refused(words, ask):
    try:
        ask()
    except (InferenceServerException, ssl.SSLError) as error:
        assert words in str(error), f"{words!r} is not in {error}"
    else:
        raise AssertionError(f"it was answered, and not refused with {words!r}")


assert client().is_server_ready()
headers = {"Authorization": f"Bearer {token}"}
assert client().infer("tiny", [x], headers=headers).as_numpy("y").shape == (1, 16)
assert client().get_model_metadata("tiny", headers=headers)["name"] == "tiny"
refused("a token is needed", lambda: client().infer("tiny", [x]))
refused("token", lambda: client().infer("tiny", [x], headers={"Authorization": "Bearer other"}))
refused("CERTIFICATE_VERIFY_FAILED", lambda: client(None).is_server_ready())
print("all as it should be")
