"""Takes rows along the edges of a plan's routes: chains, branches that the models choose, and merges."""

import asyncio

from rows import every
from verdicts import edges_taken


class Walk:
    """How an ingress serves: along a route for each row, which take turns by their shares."""

    def __init__(self, ingress):
        self.ingress, self.stages = ingress, ingress.args["stages"]

    def reconfigure(self, config):
        self.config = config

    def arrived(self, _):
        return 0

    async def serve(self, model, row, deadline, _):
        """Takes a row along a route: a stage begins when all before it have spoken, and one of them leads to it."""
        entry, visits = self.ingress.turn(model, self.config["models"][model]["routes"]), {}

        async def visit(name):
            spoken = [await visits[earlier] for earlier in self.stages[name]["before"] if earlier in visits]
            if name != entry and not any(name in targets for targets in spoken):
                return ()
            outputs = await self.ingress.call(name, self.config["stages"][name], row, deadline)
            taken = edges_taken(self.stages[name]["choices"], outputs)
            targets = [edge["to"] for edge in self.stages[name]["next"] if edge.get("bit") is None or edge["bit"] in taken]
            ending = [] if targets else [out for out in self.stages[name]["outputs"] if "end_key" in out]
            row.update((out["end_key"], outputs[out["name"]]) for out in ending)
            return targets

        for name in self.stages[entry]["reaches"]:
            visits[name] = asyncio.ensure_future(visit(name))
        await every(visits.values())
