import { ComponentDemand } from './component-demand.js';
import { ComponentWorth } from './component-worth.js';
import { EvictionCosts } from './eviction-costs.js';
import type { PlannedWork } from './planned-work.js';
import type { WorkflowPolicy } from './policy.js';
import type { Residency } from './residency.js';
import type { MemoryRules } from './rooms.js';
import { Spreading } from './spreading.js';
import type { Placeable } from './table.js';

/** ComponentRules holds what a policy says of which components devices hold. */
export interface ComponentRules {
  readonly demand: ComponentDemand;
  readonly spreading: Spreading;
  readonly costs: EvictionCosts;
  readonly leaving: MemoryRules;
}

/** ComponentRulesParts holds what the rules look at. */
export interface ComponentRulesParts {
  readonly residency: Residency;
  readonly work: PlannedWork;
  readonly placeable: Placeable;
}

/** componentRules makes the rules of a policy. */
export function componentRules(policy: WorkflowPolicy, parts: ComponentRulesParts): ComponentRules {
  const { evicting, sparing, spreading, halfLifeNs } = policy;
  const { residency, work, placeable } = parts;
  const demand = new ComponentDemand(placeable.components, halfLifeNs);
  const worth = new ComponentWorth(demand, residency);
  const isByWorth = evicting.kind === 'least-worth';
  const most = sparing.kind === 'reloads' ? sparing.most : 0;
  return {
    demand,
    spreading: new Spreading({ rule: spreading, halfLifeNs, demand, residency, work, placeable }),
    costs: new EvictionCosts({ residency, work, worth, isByWorth, most }),
    leaving: { worth, isByWorth, isSparing: sparing.kind === 'reloads' },
  };
}
