import { DynamicProgram } from './dynamic-program.js';
import type { Outlook } from './outlook.js';
import { Greedy, type Placing, RoundRobin } from './placing.js';
import type { PlacingRule } from './policy.js';
import { type Costs, type Devices, EXACT } from './to-place.js';

/** PlacingParts holds what devices are chosen by. */
export interface PlacingParts {
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly costs: Costs;
}

/** placingOf makes the Placing of a rule. */
export function placingOf(rule: PlacingRule, parts: PlacingParts): Placing {
  const { outlook, devices, costs } = parts;
  switch (rule.kind) {
    case 'dynamic-program': {
      const { candidates = EXACT.candidates, beam = EXACT.beam } = rule;
      return new DynamicProgram({
        outlook,
        devices,
        costs,
        search: { candidates, beam, isExact: rule.beam === undefined },
      });
    }
    case 'greedy':
      return new Greedy(outlook, devices);
    case 'round-robin':
      return new RoundRobin(devices);
  }
}
