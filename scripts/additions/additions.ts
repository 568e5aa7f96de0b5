/** Insertion adds a member to an exported union or record of types, and what it needs besides. */
export interface Insertion {
  readonly file: string;
  /** The text in the file after which the member is added; it stands there once. */
  readonly after: string;
  readonly member: string;
}

/** Addition is what people will add: its name in CONTRIBUTING.md, and the members of types that it begins with. */
export interface Addition {
  readonly name: string;
  readonly insertions: readonly Insertion[];
}

/** ADDITIONS lists what is inserted on trial, each as its recipe begins. */
export const ADDITIONS: readonly Addition[] = [
  {
    name: 'a kind of plan',
    insertions: [
      {
        file: 'src/formats/artifact-kinds.ts',
        after: 'export interface ArtifactTypes {',
        member: "'trial-plan': Omit<PipelinePlan, 'kind'> & { kind: 'trial-plan' };",
      },
      {
        file: 'src/formats/artifact-kinds.ts',
        after: 'export const ARTIFACT_KINDS = [',
        member: "'trial-plan',",
      },
      {
        file: 'src/plans/served-plan.ts',
        after: 'export type StagePlan =',
        member: "(Omit<PipelinePlan, 'kind'> & { kind: 'trial-plan' }) |",
      },
    ],
  },
  {
    name: 'a kind of spec',
    insertions: [
      {
        file: 'src/formats/artifact-kinds.ts',
        after: 'export interface ArtifactTypes {',
        member: "trial: Omit<PipelineSpec, 'kind'> & { kind: 'trial' };",
      },
      { file: 'src/formats/artifact-kinds.ts', after: 'export const ARTIFACT_KINDS = [', member: "'trial'," },
      { file: 'src/specs/spec-kind.ts', after: 'export const SPEC_KINDS = [', member: "'trial'," },
    ],
  },
  {
    name: 'a drop rule',
    insertions: [
      {
        file: 'src/serving/stage-local/policy.ts',
        after: 'export type DropRule =',
        member: "| { kind: 'trial' }",
      },
    ],
  },
  {
    name: 'a queue order',
    insertions: [
      {
        file: 'src/serving/state/waiting-tasks.ts',
        after: 'export type QueueOrder =',
        member: "| { kind: 'trial' }",
      },
    ],
  },
  {
    name: 'a deploy target',
    insertions: [{ file: 'src/formats/bundle.ts', after: 'export type DeployTarget =', member: "'trial' |" }],
  },
];

/**
 * withInsertion gives the text of a file with a member added.
 * @throws Error where the text that it is added after does not stand there once
 */
export function withInsertion(text: string, { file, after, member }: Insertion): string {
  const parts = text.split(after);
  if (parts.length !== 2)
    throw new Error(`Cannot add to ${file}: "${after}" stands there ${parts.length - 1} times, not once`);
  return parts.join(`${after} ${member}`);
}
