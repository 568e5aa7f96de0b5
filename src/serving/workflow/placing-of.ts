import { DynamicProgram } from './dynamic-program.js';
import type { Outlook } from './outlook.js';
import { Greedy, type Placing, RoundRobin } from './placing.js';
import type { PlacingRule } from './policy.js';
import { type Devices, EXACT } from './to-place.js';

/** placingOf makes the Placing of a rule. */
export function placingOf(rule: PlacingRule, outlook: Outlook, devices: Devices): Placing {
  switch (rule.kind) {
    case 'dynamic-program': {
      const { candidates = EXACT.candidates, beam = EXACT.beam } = rule;
      return new DynamicProgram(outlook, devices, { candidates, beam, isExact: rule.beam === undefined });
    }
    case 'greedy':
      return new Greedy(outlook, devices);
    case 'round-robin':
      return new RoundRobin(devices);
  }
}
