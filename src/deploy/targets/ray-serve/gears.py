"""Takes rows through the models of the gear in force, until one is certain of its answer."""

import time

from verdicts import certainty_of

NEVER = float("inf")


class Gears:
    """Chooses the gear in force by the rate of arrivals, as the plan was made for (CascadeServe, section 5)."""

    def __init__(self, config, replicas, current):
        self.config, self.gears, self.replicas = config, config["gears"], replicas
        self.current, self.count, self.before, self.waiting = min(current, len(self.gears) - 1), 0, 0, 0
        self.interval_s, self.began = config["interval_ms"] / 1e3, time.monotonic()
        self.since = self.began

    def rate(self):
        """The rate of this interval at all ingress replicas, less where more than planned has come in the mean."""
        rps, planned = self.replicas * self.count / self.interval_s, self.config.get("planned_rps", NEVER)
        mean = self.replicas * (self.before + self.count) / (self.since + self.interval_s - self.began)
        return rps * planned / mean if mean > planned else rps

    def gear_for(self, rps, least=0):
        return next((i for i in range(least, len(self.gears)) if rps <= self.gears[i]["to_rps"]), len(self.gears) - 1)

    def arrived(self, rows):
        while time.monotonic() >= self.since + self.interval_s:
            wanted = self.gear_for(self.rate())
            if wanted >= self.current or self.rate() >= self.config["alpha"] * self.waiting * self.replicas:
                self.current = wanted
            self.before, self.count, self.since = self.before + self.count, 0, self.since + self.interval_s
        self.count += rows
        self.current = self.gear_for(self.rate(), self.current)
        return self.current


class Walk:
    """How an ingress serves: by gears, which it chooses by the arrivals that it sees."""

    def __init__(self, ingress):
        self.ingress, self.args, self.gears = ingress, ingress.args, None

    def reconfigure(self, config):
        current = self.gears.current if self.gears else 0
        self.gears = Gears(config["gears"], config["ingress_replicas"], current)

    def arrived(self, rows):
        return self.gears.arrived(rows)

    async def serve(self, model, row, deadline, gear):
        """Takes a row through the models of a gear, until one is certain or the last has answered."""
        for first, step in enumerate(self.gears.gears[gear]["steps"]):
            self.gears.waiting += first == 0
            try:
                outputs = await self.ingress.call(step["stage"], step["groups"], row, deadline, gear)
            finally:
                self.gears.waiting -= first == 0
            scores = outputs[self.args["stages"][step["stage"]]["scores"]]
            row.answered_by, row.certainty = step["stage"], certainty_of(scores, self.args["certainty"])
            if row.certainty >= step.get("below", -NEVER):
                return
