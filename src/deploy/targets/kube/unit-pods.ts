import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import type { EngineBundle } from '../engine-target.js';
import { inObject, type KubePods, objectsIn, podsIn } from './objects.js';
import { isClaimed } from './server-pods.js';
import { type DividedBy, type ServingUnit, servingUnits } from './units.js';

/** DRA is the folder of the files by which claims give pods their GPUs. */
export const DRA = 'dra/';

/** UnitPods are pods of a bundle with the unit of the plan that they are. */
export interface UnitPods {
  readonly pods: KubePods;
  readonly unit: ServingUnit;
  readonly units: readonly ServingUnit[];
}

/** wayOf says who divides GPUs for what a file holds. */
export function wayOf(file: string): DividedBy {
  return file.startsWith(DRA) ? 'claims' : 'plugin';
}

/** linted gives a bundle as what is written from it takes it; its digest is not known then, and not needed. */
export function linted({ plan, graph }: LintedBundle): EngineBundle {
  return { plan, graph, planSha256: '' };
}

/** unitPods pairs the pods of a bundle with the units of its plan, by their names. */
export function unitPods(bundle: LintedBundle): UnitPods[] {
  return podsIn(bundle.files).flatMap((pods) => {
    const units = servingUnits(bundle, wayOf(pods.owner.file));
    const unit = units.find(({ name }) => name === pods.owner.name);
    return unit === undefined ? [] : [{ pods, unit, units }];
  });
}

/** ofUnits makes a rule about the pods of each unit. */
export function ofUnits(
  name: string,
  check: (unit: UnitPods, bundle: LintedBundle) => Iterable<RuleFinding>,
  breaks: LintRule['breaks'] = 'fault',
): LintRule {
  return {
    name,
    breaks,
    *check(bundle) {
      for (const one of unitPods(bundle)) yield* check(one, bundle);
    },
  };
}

/** unitsRule makes the rule that each unit of the plan has an object of its name, in each of these files, and no other is there. */
export function unitsRule(kind: string, files: readonly string[]): LintRule {
  return {
    name: 'units',
    breaks: 'fault',
    *check(bundle) {
      for (const file of files) {
        const names = servingUnits(bundle, wayOf(file)).map(({ name }) => name);
        const found = objectsIn(bundle.files).filter((one) => one.file === file && one.kind === kind);
        for (const name of names)
          if (!found.some((one) => one.name === name))
            yield { file, at: [], message: `has no ${kind} named ${name}, which the plan has` };
        for (const object of found)
          if (!names.includes(object.name))
            yield inObject(
              object,
              ['metadata', 'name'],
              `is ${object.name}; the plan has ${names.join(', ')}`,
            );
      }
    },
  };
}

/** isClaimedUnit returns whether claims give pods of a unit their GPUs. */
export function isClaimedUnit({ pods, unit }: Pick<UnitPods, 'pods' | 'unit'>): boolean {
  return wayOf(pods.owner.file) === 'claims' && isClaimed(unit);
}
