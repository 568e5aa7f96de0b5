"""What the outputs of a model say of a row: how certain the model is, and to which models the row goes on."""

import numpy as np


def certainty_of(scores, measure):
    """How certain a model is of a row from its scores (CascadeServe, equation 5); not at all where one is no number."""
    scores = scores.astype(np.float64).ravel()
    if scores.size < 2 or np.isnan(scores).any():
        return 0.0
    if measure != "logits" and not (abs(scores.sum() - 1) <= 1e-3 and (scores >= 0).all()):
        powers = np.exp(scores - scores.max())
        scores = powers / powers.sum()
    if measure == "entropy":
        some = scores[scores > 0]
        return float(1 + (some * np.log(some)).sum() / np.log(scores.size))
    second, first = np.sort(scores)[-2:]
    return float(first - second)


def edges_taken(choices, outputs):
    """The bits of the edges that the outputs choose: each whose condition holds; of exclusive ones the first, or else the last."""
    taken = set()
    for choice in choices:
        holding = [edge["bit"] for edge in choice["edges"] if "output" in edge and holds(edge, outputs[edge["output"]])]
        taken.update(holding[:1] or ([choice["edges"][-1]["bit"]] if choice["exclusive"] else []))
    return taken


def holds(edge, value):
    number = value.flat[edge["index"]]
    return bool(number < edge["below"] if "below" in edge else number >= edge["at_least"])
