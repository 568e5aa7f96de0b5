"""A model server of KServe whose model answers each number with twice the number, and describes no inputs, as is usual there."""

from kserve import InferOutput, InferResponse, Model, ModelServer


class Doubler(Model):
    def __init__(self, name):
        super().__init__(name)
        self.ready = True

    def predict(self, payload, headers=None):
        x = payload.inputs[0].as_numpy()
        y = InferOutput(name="y", shape=list(x.shape), datatype="FP32")
        y.set_data_from_numpy(x * 2, binary_data=False)
        return InferResponse(response_id=payload.id, model_name=self.name, infer_outputs=[y])


ModelServer().start([Doubler("doubler")])
