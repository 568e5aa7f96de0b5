/** The sources of a room to mutate, and the tests that are to notice the mutants. */
export interface Room {
  /** Globs of the sources that are mutated. */
  readonly sources: readonly string[];
  /** Globs of the test files that run; files that take many seconds stay out. Stryker takes no `!pattern` here. */
  readonly tests: readonly string[];
  /** Whether the tests need the build and the examples beside them, as those do of which a part runs in threads. */
  readonly built?: boolean;
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
  // theory.test.ts runs the built code, which no mutant reaches.
  simulator: {
    sources: sourcesOf('simulator'),
    tests: ['test/simulator/!(theory).test.ts'],
  },
  // Tests of whole runs take minutes: a mutant that survives here may still be noticed by them.
  serving: {
    sources: sourcesOf('serving'),
    tests: ['test/serving/**/!(random-plans|recovery|stage-local|reactive|fifo|reservation|golden).test.ts'],
  },
  // test/api/simulate.test.ts runs whole commands for ten seconds, and reaches what nothing else does. What runs in threads
  // is the built code, which no mutant reaches.
  simulation: {
    sources: sourcesOf('simulation'),
    tests: ['test/simulation/**/*.test.ts', 'test/api/simulate{,-gears,-workflows}.test.ts'],
    built: true,
  },
  // What plans say of their parts is tested where it is used: as an engine's graph, and in a simulation.
  plans: {
    sources: sourcesOf('plans'),
    tests: [
      'test/plans/**/*.test.ts',
      'test/deploy/engine-graph.test.ts',
      'test/deploy/targets/ray-serve/ray-serve.test.ts',
      'test/{pipeline/{given,standby,unequal},serving/{part,topology}}.test.ts',
      'test/report/{diff,kinds/{kinds,pipeline}}.test.ts',
      'test/simulation/pipelines.test.ts',
      'test/simulator/{standby,weights}.test.ts',
    ],
    built: true,
  },
  // bounds.test.ts searches and simulates whole plans.
  dyorc: {
    sources: sourcesOf('dyorc'),
    tests: ['test/dyorc/**/!(bounds).test.ts'],
  },
  // What programs do on threads and in processes is the built code, which no mutant reaches: the sources that only run
  // there stay out. The tests left out take up to 10 s.
  programs: {
    sources: [
      ...sourcesOf('programs'),
      '!src/programs/{attribution,handed-in,program,program-thread,program-worker}.ts',
    ],
    tests: ['test/programs/**/!(many-runs|replays|mistakes).test.ts'],
    built: true,
  },
  // Tests that serve for seconds stay out: serve.ts and http-servers.ts only run in these.
  runtime: {
    sources: [...sourcesOf('runtime'), '!src/runtime/serve.ts', '!src/runtime/http/http-servers.ts'],
    tests: [
      'test/runtime/bundle/*.test.ts',
      'test/runtime/tensors/*.test.ts',
      'test/runtime/live/!(served-times|live-device).test.ts',
      'test/runtime/http/!(access|leave-taking|slow-clients|texts|unread-answers|forged-lines.whole).test.ts',
      'test/runtime/{scheduler,protocol}.test.ts',
      'test/runtime/workflow/!(real-models.whole|served-workflows).test.ts',
    ],
    built: true,
  },
  // evaluated.test.ts plans again for every changed figure of a plan, so that its source stays out with it.
  // The other files left out compare whole searches with brute force, for seconds; small-spaces.test.ts has small cases.
  gearplan: {
    sources: [...sourcesOf('gearplan'), '!src/gearplan/evaluated.ts'],
    tests: ['test/gearplan/!(answer|evaluated|frontier|placement-solver|planner).test.ts'],
  },
  // The files left out plan tens of random problems each: small-searches.test.ts has what they try, in problems of which
  // all configurations are tried.
  inferline: {
    sources: sourcesOf('inferline'),
    tests: [
      'test/inferline/{by-hand,coarse,estimator,floors,limits,plan-body,plan-open}.test.ts',
      'test/inferline/{replicas,request-queue,senders,small-searches,together}.test.ts',
    ],
  },
  // search.test.ts runs real searches with real simulations, which take minutes.
  hold: {
    sources: sourcesOf('hold'),
    tests: ['test/hold/**/!(search).test.ts'],
  },
  lp: {
    sources: sourcesOf('lp'),
    tests: ['test/lp/**/*.test.ts', 'test/milp/master/**/*.test.ts'],
  },
  // Folders are tried one at a time, because all of the room's mutants would take a day. Each is tried with the tests
  // made for it, and with the comparisons with brute force where those are its tests.
  'milp/tables': {
    sources: sourcesOf('milp/tables'),
    tests: ['test/{milp/{tables,columns,master},checks}/**/*.test.ts', 'test/milp/solve.test.ts'],
  },
  'milp/columns': {
    sources: sourcesOf('milp/columns'),
    tests: ['test/milp/{columns,master}/**/*.test.ts', 'test/milp/solve.test.ts'],
  },
  'milp/master': {
    sources: sourcesOf('milp/master'),
    tests: ['test/milp/master/**/*.test.ts', 'test/milp/{oracle,solve}.test.ts'],
  },
  'milp/integer': {
    sources: sourcesOf('milp/integer'),
    tests: ['test/milp/integer/**/*.test.ts', 'test/milp/solve.test.ts'],
  },
  'milp/literal': {
    sources: sourcesOf('milp/literal'),
    tests: ['test/milp/literal/**/*.test.ts', 'test/milp/oracle.test.ts'],
  },
  'milp/plan': {
    sources: sourcesOf('milp/plan'),
    tests: ['test/{milp/{plan,columns},checks}/**/*.test.ts', 'test/milp/{oracle,solve,units}.test.ts'],
  },
  'milp/explain': {
    sources: sourcesOf('milp/explain'),
    tests: ['test/milp/explain/**/*.test.ts', 'test/milp/columns/layers.test.ts', 'test/milp/solve.test.ts'],
  },
  checks: {
    sources: sourcesOf('checks'),
    tests: ['test/checks/**/*.test.ts'],
  },
  // These are the files of the room itself: the order of the phases, the baselines, and why there is no plan.
  milp: {
    sources: ['src/milp/*.ts', '!src/milp/index.ts'],
    tests: ['test/milp/{baselines,infeasible,solve,solve-ways}.test.ts', 'test/milp/columns/layers.test.ts'],
  },
};
