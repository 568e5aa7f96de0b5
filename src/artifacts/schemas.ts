import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ValidateFunction } from 'ajv';
import type { Bundle } from './bundle.js';
import type { Cluster } from './cluster.js';
import type { PooledPlan } from './pooled-plan.js';
import type { PooledSpec } from './pooled-spec.js';
import type { Profile } from './profile.js';
import type { SimulationReport } from './simulation-report.js';
import type { SimulationSweep } from './simulation-sweep.js';

/** The kinds of file there are, and the type of each. */
export interface ArtifactTypes {
  profile: Profile;
  cluster: Cluster;
  pooled: PooledSpec;
  'pooled-plan': PooledPlan;
  bundle: Bundle;
  'simulation-report': SimulationReport;
  'simulation-sweep': SimulationSweep;
}

export type ArtifactKind = keyof ArtifactTypes;

/** In the order in which schemas refer to one another. */
export const ARTIFACT_KINDS = [
  'profile',
  'cluster',
  'pooled',
  'pooled-plan',
  'bundle',
  'simulation-report',
  'simulation-sweep',
] as const satisfies ArtifactKind[];

/** The `$schema` an emitted file of this kind carries: the schema's `$id`. */
export function schemaId(kind: ArtifactKind): string {
  return `urn:inferplan:schema:${kind}:1`;
}

/** The JSON Schema (draft-07) of a kind, as text. */
export function schemaText(kind: ArtifactKind): string {
  return readFileSync(new URL(`${schemaFolder()}/${kind}.schema.json`, import.meta.url), 'utf8');
}

/** Schemas lie beside the package's package.json, from sources and from the build alike. */
function schemaFolder(): string {
  return import.meta.url.includes('/dist/src/') ? '../../../schemas' : '../../schemas';
}

let validators: Map<ArtifactKind, ValidateFunction> | undefined;

/** The compiled validator of a kind. The first call loads ajv and compiles every schema (tens of milliseconds). */
export function validatorOf(kind: ArtifactKind): ValidateFunction {
  validators ??= compileAll();
  return validators.get(kind) as ValidateFunction;
}

function compileAll(): Map<ArtifactKind, ValidateFunction> {
  // Loaded here, not at the top: a command that reads no artifact does not pay for it.
  const { default: Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
  const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true, strictTypes: false });
  for (const kind of ARTIFACT_KINDS) ajv.addSchema(JSON.parse(schemaText(kind)) as object);
  return new Map(ARTIFACT_KINDS.map((kind) => [kind, ajv.getSchema(schemaId(kind)) as ValidateFunction]));
}
