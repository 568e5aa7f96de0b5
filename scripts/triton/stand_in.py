"""Stands in for Triton's ONNX Runtime backend, which the Triton of nvidia-pytriton lacks: the same model under the same name."""

import json
from pathlib import Path

import onnxruntime
import triton_python_backend_utils as pb


class TritonPythonModel:
    def initialize(self, args):
        config, options = json.loads(args["model_config"]), onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(Path(__file__).parent / "model.onnx"), options)
        self.inputs, self.outputs = ([one["name"] for one in config[of]] for of in ("input", "output"))

    def execute(self, requests):
        """Runs each request of a batch by itself: what is tried is how requests are led, and not how fast."""
        return [pb.InferenceResponse(self.run(request)) for request in requests]

    def run(self, request):
        feeds = {name: pb.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs}
        return [pb.Tensor(name, value) for name, value in zip(self.outputs, self.session.run(self.outputs, feeds))]
