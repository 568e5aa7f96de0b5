import { createRequire } from 'node:module';
import type { Ajv, ValidateFunction } from 'ajv';
import stringify from 'json-stringify-pretty-compact';
import type { Bundle } from './bundle.js';
import type { CascadeSpec } from './cascade-spec.js';
import type { OpenCluster } from './cluster.js';
import type { ComparisonDocument } from './comparison.js';
import type { GearPlan } from './gear-plan.js';
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
import type { DeviceList, ErrorDocument, PartitionReport, ServerAddress, Validation } from './printed.js';
import type { Profile } from './profile.js';
import type { SchedulerComparison } from './scheduler-comparison.js';
import { completeSchema } from './schema-text.js';
import type { SimulationReport } from './simulation-report.js';
import type { SimulationSweep } from './simulation-sweep.js';
import type { TraceDescription } from './trace-description.js';
import type { Verification } from './verification.js';

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
  policy: PolicyFile;
  bundle: Bundle;
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
  'policy',
  'bundle',
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

let compiler: Ajv | undefined;

/**
 * validatorOf gives a kind's compiled validator. The first call loads ajv, and the first for a kind compiles its schema
 * (some 10 ms), so a command pays for the kinds that it reads.
 */
export function validatorOf(kind: ArtifactKind): ValidateFunction {
  compiler ??= schemaCompiler();
  return compiler.getSchema(schemaId(kind)) ?? compiler.compile(completeSchema(kind));
}

/** validatorOfDefinition gives the compiled validator of a definition of a kind's schema. */
export function validatorOfDefinition(kind: ArtifactKind, definition: string): ValidateFunction {
  validatorOf(kind);
  return (compiler as Ajv).getSchema(`${schemaId(kind)}#/definitions/${definition}`) as ValidateFunction;
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
  const validate = (compiler as Ajv).compile({ definitions: definitionsOf(whole), ...part });
  partValidators.set(part, validate);
  return validate;
}

/** referredTo gives the definition that a part of a schema names, or the part itself where it names none. */
export function referredTo(part: SchemaPart, whole: ValidateFunction): SchemaPart {
  if (part.$ref === undefined) return part;
  const name = part.$ref.slice('#/definitions/'.length);
  return referredTo(definitionsOf(whole)[name] as SchemaPart, whole);
}

function definitionsOf({ schemaEnv }: ValidateFunction): Readonly<Record<string, SchemaPart>> {
  return (schemaEnv.root.schema as { definitions?: Record<string, SchemaPart> }).definitions ?? {};
}

function schemaCompiler(): Ajv {
  const { default: Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
  return new Ajv({
    allErrors: true,
    verbose: true,
    allowUnionTypes: true,
    strictTypes: false,
    // The tests check the schemas themselves, and compiling shorter code takes longer than running what is saved.
    validateSchema: false,
    code: { optimize: false },
  });
}
