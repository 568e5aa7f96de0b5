"""Takes a request along the edges between models: branches that they choose, and merges."""

import asyncio

from members import Front, call
from verdicts import edges_taken


class TritonPythonModel(Front):
    async def walk(self, given, deadline):
        """A stage begins when all before it have spoken, and one of them leads to it. Outputs that no branch gave are left out."""
        row, visits, stages = {one["key"]: given[one["name"]] for one in self.args["inputs"]}, {}, self.args["stages"]

        async def visit(name):
            stage = stages[name]
            spoken = [await visits[earlier] for earlier in stage["before"] if earlier in visits]
            if name != self.args["entry"] and not any(name in targets for targets in spoken):
                return ()
            feeds = {one["name"]: next(row[key] for key in one["from"] if key in row) for one in stage["inputs"]}
            outputs = await call(name, feeds, [one["name"] for one in stage["outputs"]], deadline - stage["least_ms"] / 1e3)
            row.update((one["key"], outputs[one["name"]]) for one in stage["outputs"])
            taken = edges_taken(stage["choices"], outputs)
            targets = [edge["to"] for edge in stage["next"] if edge.get("bit") is None or edge["bit"] in taken]
            ending = [] if targets else [one for one in stage["outputs"] if "end_key" in one]
            row.update((one["end_key"], outputs[one["name"]]) for one in ending)
            return targets

        for name in stages:
            visits[name] = asyncio.ensure_future(visit(name))
        try:
            await asyncio.gather(*visits.values())
        finally:
            for one in visits.values():
                one.cancel()
        return {one["name"]: row[one["key"]] for one in self.args["outputs"] if one["key"] in row}
