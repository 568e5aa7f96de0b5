/** What is mutated in a room, and the tests that are to notice it. */
export interface Room {
  /** Globs of the sources that are mutated. */
  readonly sources: readonly string[];
  /** Globs of the test files that run; files that take many seconds stay out. Stryker takes no `!pattern` here. */
  readonly tests: readonly string[];
}

const sourcesOf = (folder: string): readonly string[] => [
  `src/${folder}/**/*.ts`,
  `!src/${folder}/**/index.ts`,
];

/** Rooms that can be asked for by name. A file of another room's tests is listed where it is quick and uses this one. */
export const ROOMS: Readonly<Record<string, Room>> = {
  collections: {
    sources: sourcesOf('collections'),
    tests: ['test/collections/**/*.test.ts'],
  },
  metrics: {
    sources: sourcesOf('metrics'),
    tests: ['test/metrics/**/*.test.ts'],
  },
  workload: {
    sources: sourcesOf('workload'),
    tests: ['test/workload/**/*.test.ts'],
  },
  // Tests that run models stay out: ONNX Runtime, loaded again and again by one process, at times never ends.
  'onnx/cut': {
    sources: sourcesOf('onnx/cut'),
    tests: ['test/onnx/cut/!(chains|random-chains).test.ts'],
  },
  // theory.test.ts runs what was built, which no mutant reaches.
  simulator: {
    sources: sourcesOf('simulator'),
    tests: ['test/simulator/!(theory).test.ts'],
  },
  // Tests of whole runs take minutes: a mutant that survives here may still be noticed by them.
  serving: {
    sources: sourcesOf('serving'),
    tests: ['test/serving/**/!(random-plans|recovery|stage-local|reactive|fifo|reservation|golden).test.ts'],
  },
  // The comparisons with brute force take minutes: a mutant that survives here may still be noticed by them.
  milp: {
    sources: sourcesOf('milp'),
    tests: ['test/milp/**/!(oracle|layers|published|units).test.ts'],
  },
};
