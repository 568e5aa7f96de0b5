/** FAMILIES lists the kinds that a table of the sources has one entry for: of plans, and of specs. */
export const FAMILIES: readonly (readonly string[])[] = [
  ['pooled-plan', 'pipeline-plan', 'gear-plan', 'workflow-plan'],
  ['pooled', 'pipeline', 'cascade'],
];

/** No more places than these may tell kinds apart by their names. */
export const MOST_TOLD_APART = 12;

/** TOLD_APART says why kinds are told apart by their names in a file, and how often. */
export const TOLD_APART: Readonly<Record<string, { readonly times: number; readonly why: string }>> = {
  'src/api/profile-cascade.ts': {
    times: 1,
    why: 'Models of all specs but pooled ones are profiled together, from the spec.',
  },
  'src/api/validate.ts': {
    times: 1,
    why: 'It describes a file of any kind of artifact in an exhaustive switch, in which plans and specs have an arm each.',
  },
};
