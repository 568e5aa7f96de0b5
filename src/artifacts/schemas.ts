import { createRequire } from 'node:module';
import type { ValidateFunction } from 'ajv';
import stringify from 'json-stringify-pretty-compact';
import type { Bundle } from './bundle.js';
import type { CascadeSpec } from './cascade-spec.js';
import type { OpenCluster } from './cluster.js';
import type { ComparisonDocument } from './comparison.js';
import { compiled, compiledKind, type Validators, WHOLE } from './compile-schema.js';
import { counted } from './counted-errors.js';
import type { EngineProfile } from './engine-profile.js';
import type { GearPlan } from './gear-plan.js';
import type { LintReport } from './lint-report.js';
import type { LoadDocument } from './load-report.js';
import type { NoPlan } from './no-plan.js';
import type { PipelinePlan } from './pipeline-plan.js';
import type { PipelineProfile } from './pipeline-profile.js';
import type { PipelineSpec } from './pipeline-spec.js';
import type { PlanDifference } from './plan-diff.js';
import type { PlanSet } from './plan-set.js';
import type { PolicyFile } from './policy.js';
import type { PooledPlan } from './pooled-plan.js';
import type { PooledSpec } from './pooled-spec.js';
import type {
  CompletionScript,
  DeviceList,
  ErrorDocument,
  PartitionReport,
  ServerAddress,
  Validation,
  WrittenExample,
} from './printed.js';
import type { Profile } from './profile.js';
import type { Run } from './run.js';
import type { SchedulerComparison } from './scheduler-comparison.js';
import { completeSchema } from './schema-text.js';
import type { SimulationReport } from './simulation-report.js';
import type { SimulationSweep } from './simulation-sweep.js';
import type { TraceDescription } from './trace-description.js';
import type { Verification } from './verification.js';
import type { WorkflowPlan } from './workflow-plan.js';
import type { WorkflowSpec } from './workflow-spec.js';

/** ArtifactTypes lists the kinds of file, with the type of each. */
export interface ArtifactTypes {
  profile: Profile;
  cluster: OpenCluster;
  pooled: PooledSpec;
  'pooled-plan': PooledPlan;
  pipeline: PipelineSpec;
  'pipeline-plan': PipelinePlan;
  cascade: CascadeSpec;
  'gear-plan': GearPlan;
  workflow: WorkflowSpec;
  'workflow-plan': WorkflowPlan;
  policy: PolicyFile;
  'engine-profile': EngineProfile;
  run: Run;
  bundle: Bundle;
  'lint-report': LintReport;
  'simulation-report': SimulationReport;
  'simulation-sweep': SimulationSweep;
  'scheduler-comparison': SchedulerComparison;
  comparison: ComparisonDocument;
  'plan-diff': PlanDifference;
  'load-report': LoadDocument;
  verification: Verification;
  'trace-description': TraceDescription;
  'no-plan': NoPlan;
  error: ErrorDocument;
  devices: DeviceList;
  validation: Validation;
  'partition-report': PartitionReport;
  'pipeline-profile': PipelineProfile;
  'plan-set': PlanSet;
  server: ServerAddress;
  example: WrittenExample;
  completion: CompletionScript;
}

/** The kinds stand in the order in which schemas refer to one another. */
export const ARTIFACT_KINDS = [
  'profile',
  'cluster',
  'pooled',
  'pooled-plan',
  'pipeline',
  'pipeline-plan',
  'cascade',
  'gear-plan',
  'workflow',
  'workflow-plan',
  'policy',
  'engine-profile',
  'run',
  'bundle',
  'lint-report',
  'simulation-report',
  'simulation-sweep',
  'scheduler-comparison',
  'comparison',
  'plan-diff',
  'load-report',
  'verification',
  'trace-description',
  'no-plan',
  'error',
  'devices',
  'validation',
  'partition-report',
  'pipeline-profile',
  'plan-set',
  'server',
  'example',
  'completion',
] as const satisfies (keyof ArtifactTypes)[];

/** ArtifactKind is the `kind` of a file. */
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

/** schemaId gives the `$schema` that an emitted file of this kind carries: the schema's `$id`. */
export function schemaId(kind: ArtifactKind): string {
  return `urn:inferplan:schema:${kind}:1`;
}

/** schemaText gives the JSON Schema (draft-07) of a kind as JSON text. It refers to no other schema. */
export function schemaText(kind: ArtifactKind): string {
  return `${stringify(completeSchema(kind), { maxLength: 110 })}\n`;
}

/** The kinds of the validators, whose schemas are read when something is wrong. */
const kinds = new WeakMap<ValidateFunction, ArtifactKind>();

const validators = new Map<ArtifactKind, Validators>();

/** validatorOf gives a kind's validator. It is loaded, as the build has compiled it, when it is first asked for. */
export function validatorOf(kind: ArtifactKind): ValidateFunction {
  return validatorOfDefinition(kind, WHOLE);
}

/** validatorOfDefinition gives the validator of a definition of a kind's schema that stands alone. */
export function validatorOfDefinition(kind: ArtifactKind, definition: string): ValidateFunction {
  let known = validators.get(kind);
  if (known === undefined) {
    known = builtValidators(kind) ?? compiledKind(kind);
    for (const validate of Object.values(known)) kinds.set(validate, kind);
    validators.set(kind, known);
  }
  return known[definition] as ValidateFunction;
}

/** builtValidators loads what the build has made of a schema. It is undefined where sources run that nobody has built. */
function builtValidators(kind: ArtifactKind): Validators | undefined {
  const require = createRequire(import.meta.url);
  try {
    return (require(`#dist/validators/${kind}.cjs`) as (count: typeof counted) => Validators)(counted);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/** SchemaPart is a part of a schema, which may only name a definition. */
export interface SchemaPart {
  readonly $ref?: string;
}

/** The validators of parts, each compiled when something is first wrong with a value of it. */
const partValidators = new WeakMap<SchemaPart, ValidateFunction>();

/**
 * validatorOfPart gives the compiled validator of a part of a schema, for values of that part alone.
 * @param whole the validator that the part was found in
 */
export function validatorOfPart(part: SchemaPart, whole: ValidateFunction): ValidateFunction {
  const known = partValidators.get(part);
  if (known !== undefined) return known;
  const validate = compiled({ definitions: definitionsOf(whole), ...part });
  partValidators.set(part, validate);
  return validate;
}

/** referredTo gives the definition that a part of a schema names, or the part itself where it names none. */
export function referredTo(part: SchemaPart, whole: ValidateFunction): SchemaPart {
  if (part.$ref === undefined) return part;
  const name = part.$ref.slice('#/definitions/'.length);
  return referredTo(definitionsOf(whole)[name] as SchemaPart, whole);
}

function definitionsOf(whole: ValidateFunction): Definitions {
  const kind = kinds.get(whole);
  const schema = kind === undefined ? whole.schemaEnv.root.schema : completeSchema(kind);
  return (schema as { readonly definitions?: Definitions }).definitions ?? {};
}

type Definitions = Readonly<Record<string, SchemaPart>>;
