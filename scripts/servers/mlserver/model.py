from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Doubler(MLModel):
    """Answers each number with twice the number."""

    async def load(self) -> bool:
        return True

    async def predict(self, request: InferenceRequest) -> InferenceResponse:
        x = NumpyCodec.decode_input(request.inputs[0])
        return InferenceResponse(
            model_name=self.name, id=request.id, outputs=[NumpyCodec.encode_output("y", x * 2)]
        )
