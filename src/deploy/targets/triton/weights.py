"""Lets requests take turns between the pipelines of a model, each of which is an ensemble."""

from members import Front, call


class TritonPythonModel(Front):
    def begin(self):
        """The shares stand in config.pbtxt, since a server may hold some of the pipelines only."""
        shares = {key[len("share.") :]: float(value) for key, value in self.parameters.items() if key.startswith("share.")}
        self.shares, self.credit = shares, dict.fromkeys(shares, 0.0)

    async def walk(self, given, deadline):
        """Takes turns by shares (smooth weighted round robin); each instance of this model counts its own."""
        for one, share in self.shares.items():
            self.credit[one] += share
        chosen = max(self.credit, key=self.credit.get)
        self.credit[chosen] -= sum(self.shares.values())
        return await call(chosen, given, self.args["outputs"], deadline)
