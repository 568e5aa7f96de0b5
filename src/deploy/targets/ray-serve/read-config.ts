import type { DeviceGroup } from '../../engine-graph.js';
import type { LintedBundle, RuleFinding } from '../../lint/lint.js';
import { isMap } from '../../lint/schema-rule.js';
import type { Place } from '../../lint/yaml-file.js';

/** CONFIG is the file that `serve deploy` takes. */
export const CONFIG = 'serve_config.yaml';

/** Deployment is an entry of serve_config.yaml, with its place. */
export interface Deployment {
  readonly at: Place;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The group of the plan that it runs; undefined of the ingress and the counters, and where there is none. */
  readonly group: DeviceGroup | undefined;
}

/** deploymentsOf lists the deployments of all applications in serve_config.yaml. */
export function deploymentsOf({ graph, files }: LintedBundle): Deployment[] {
  const { applications } = mapOf(files.value(CONFIG));
  return listOf(applications).flatMap((application, a) =>
    listOf(mapOf(application).deployments).map((one, d) => {
      const fields = mapOf(one);
      const name = String(fields.name);
      const at = ['applications', a, 'deployments', d];
      return { at, name, fields, group: graph.groups.find((group) => group.name === name) };
    }),
  );
}

/** mapOf takes a value as a map, an empty one where it is none. */
export function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

/** listOf takes a value as a list, an empty one where it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** found places a finding in serve_config.yaml. */
export function found(at: Place, message: string): RuleFinding {
  return { file: CONFIG, at, message };
}
