import type { Bundle } from './bundle.js';
import type { CascadeSpec } from './cascade-spec.js';
import type { OpenCluster } from './cluster.js';
import type { ComparisonDocument } from './comparison.js';
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

/** Loaded is a file of one of the wanted kinds, with its path and the digest of its bytes. */
export type Loaded<K extends ArtifactKind> = {
  [Kind in K]: { kind: Kind; value: ArtifactTypes[Kind]; path: string; sha256: string };
}[K];

/** schemaId gives the `$schema` that an emitted file of this kind carries: the schema's `$id`. */
export function schemaId(kind: ArtifactKind): string {
  return `urn:inferplan:schema:${kind}:1`;
}
