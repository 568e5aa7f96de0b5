"""Takes the rows of a request from model to model until one is certain of its answer, as the gear in config.pbtxt says."""

import numpy as np
from members import Front, call
from verdicts import certainty_of

NEVER = float("inf")


class TritonPythonModel(Front):
    def begin(self):
        self.steps = self.args["gears"][int(self.parameters["gear"])]["steps"]

    async def walk(self, given, deadline):
        """The rows of which a model is not certain go on together to the next."""
        count = len(next(iter(given.values()))) if self.args["batched"] else 1
        left, answers = np.arange(count), None
        for step in self.steps:
            stage = self.args["stages"][step["stage"]]
            feeds = {name: self.rows(value, left, count) for name, value in given.items()}
            outputs = await call(step["stage"], feeds, self.args["outputs"], deadline - stage["least_ms"] / 1e3)
            if len(left) == count:
                answers = {name: np.array(value) for name, value in outputs.items()}
            else:
                for name, value in outputs.items():
                    answers[name][left] = value
            scores = outputs[stage["scores"]]
            each = scores if self.args["batched"] else [scores]
            sure = np.array([certainty_of(one, self.args["certainty"]) >= step.get("below", -NEVER) for one in each])
            left = left[~sure]
            if len(left) == 0:
                break
        return answers

    def rows(self, value, left, count):
        return value[left] if self.args["batched"] and len(left) < count else value
