const { existsSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

// The arrows of ARCHITECTURE.md, as a check. A room may look at the rooms listed after it, and enters them by their index.ts.
const ROOMS = [
  'cli',
  'report',
  'api',
  'specs',
  'hold',
  'simulation',
  'jobs',
  'deploy',
  'samples',
  'runtime',
  'loadgen',
  'gearplan',
  'dyorc',
  'inferline',
  'simulator',
  'milp',
  'lp',
  'profiler',
  'partition',
  'protocol',
  'access',
  'execution',
  'programs',
  'pipeline',
  'plans',
  'serving',
  'workload',
  'metrics',
  'random',
  'records',
  'onnx',
  'checks',
  'artifacts',
  'formats',
  'collections',
];
// The planners share no code but what is below them.
const SIDE_BY_SIDE = [
  ['workload', 'metrics', 'random'],
  ['gearplan', 'dyorc', 'inferline', 'milp'],
];
// The drivers, the load client and the planner never look at one another.
const APART = ['runtime', 'loadgen', 'simulator', 'milp'];
const PURE = [
  'gearplan',
  'dyorc',
  'records',
  'inferline',
  'hold',
  'serving',
  'pipeline',
  'milp',
  'lp',
  'partition',
  'metrics',
  'workload',
  'simulator',
  'random',
  'onnx',
  'checks',
  'plans',
  'formats',
  'collections',
];
// Files of pure rooms that ask the room of files: for the choices that the schema of policies has, and to read a long table in steps.
const ASKS_FILES = ['serving/scheduler-options', 'plans/workflow/serving', 'records/records'];
const ONLY_IN = {
  highs: ['lp'],
  'onnxruntime-node': ['execution'],
  'chalk|table|ora|commander|@bomb.sh/tab': ['cli'],
  'fastify|prom-client': ['runtime'],
  yauzl: ['samples'],
};
// The folders of a room, or of one of its folders, upper ones first: a folder may look at those after it and at files of the room that are listed below.
const FOLDERS = {
  serving: ['published', 'stage-local', 'reservation', 'workflow', 'state', 'tuning'],
  milp: ['explain', 'integer', 'literal', 'plan', 'master', 'columns', 'tables'],
  'milp/integer': ['positions', 'column-milp', 'grid-search', 'division', 'grid', 'pricing', 'rounded'],
  checks: ['pooled', 'pipeline', 'gears', 'workflow', 'load', 'simulated', 'compared', 'recount', 'stages'],
  plans: ['pooled', 'pipeline', 'gears', 'workflow', 'stages'],
  specs: ['pooled', 'pipeline', 'cascade', 'workflow'],
  onnx: ['batch', 'cut', 'read', 'wire'],
  report: ['ci'],
  api: ['init', 'verify'],
};

// A rule about a room that is gone would hold forever and keep nothing.
const src = join(__dirname, 'src');
const named = [
  ...ROOMS,
  ...SIDE_BY_SIDE.flat(),
  ...APART,
  ...PURE,
  ...Object.values(ONLY_IN).flat(),
  ...Object.entries(FOLDERS).flatMap(([room, folders]) => folders.map((folder) => `${room}/${folder}`)),
];
const gone = [...new Set(named)].filter((room) => !existsSync(join(src, room)));
const foldersIn = (folder) =>
  readdirSync(join(src, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [join(folder, entry.name)] : [],
  );
const rooms = foldersIn('');
// A folder without a door is a part of its room's list of files, as `cli/commands` is.
const folders = rooms.flatMap(foldersIn);
const doors = [...folders, ...folders.flatMap(foldersIn)].filter((folder) =>
  existsSync(join(src, folder, 'index.ts')),
);
const unnamed = [...rooms, ...doors].filter((room) => !named.includes(room.replaceAll('\\', '/')));
if (gone.length + unnamed.length > 0) {
  const faults = [
    ...gone.map((room) => `it names ${room}, and there is no such folder in src`),
    ...unnamed.map((room) => `it does not name ${room}, which is a folder of src`),
  ];
  throw new Error(`Cannot check the arrows by .dependency-cruiser.cjs:\n  ${faults.join('\n  ')}`);
}

const forbidden = [
  { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
  { name: 'not-resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  {
    name: 'no-development-packages-in-src',
    comment:
      'Users have only the packages that package.json names in dependencies, and ONNX Runtime where they want it.',
    severity: 'error',
    from: { path: '^src/' },
    to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/onnxruntime-node/' },
  },
  {
    name: 'rooms-have-one-door',
    comment: 'Another room is entered by its index.ts.',
    severity: 'error',
    from: { path: '^src/([^/]+)/' },
    to: { path: '^src/[^/]+/', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
  },
  {
    name: 'the-checks-are-sealed',
    comment:
      'What checks a plan shares nothing with what made it: it sees what files hold, and the sums of collections.',
    severity: 'error',
    from: { path: '^src/checks/' },
    to: { path: '^src/', pathNot: ['^src/checks/', '^src/(formats|collections)/'] },
  },
  {
    name: 'programs-know-no-engine',
    comment:
      'What runs programs executes and schedules nothing. Its threads hold no ONNX Runtime, so that they may be ended.',
    severity: 'error',
    from: { path: '^src/programs/' },
    to: { path: '^src/', pathNot: ['^src/programs/', '^src/(artifacts|formats|random|collections)/'] },
  },
  {
    name: 'planners-are-handed-simulation',
    comment: 'What a planner simulates is handed to it as a function.',
    severity: 'error',
    from: { path: '^src/(hold|gearplan|dyorc|inferline)/' },
    to: { path: '^src/(simulation|simulator)/' },
  },
  {
    name: 'simulation-knows-no-planner',
    comment: 'A plan is simulated as its file has it, whoever made it.',
    severity: 'error',
    from: { path: '^src/simulation/' },
    to: { path: '^src/(milp|lp|gearplan|dyorc|inferline|partition)/' },
  },
  {
    name: 'outsiders-use-the-door',
    severity: 'error',
    from: { path: '^(examples|bench|scripts)/' },
    to: { path: '^src/', pathNot: '^src/[^/]+/index\\.ts$' },
  },
];
ROOMS.forEach((room, i) => {
  const sideBySide = SIDE_BY_SIDE.find((rooms) => rooms.includes(room))?.filter((r) => r !== room) ?? [];
  const above = [...ROOMS.slice(0, i), ...sideBySide];
  if (APART.includes(room)) above.push(...APART.filter((r) => r !== room));
  if (above.length === 0) return;
  forbidden.push({
    name: `arrows-of-${room}`,
    severity: 'error',
    from: { path: `^src/${room}/` },
    to: { path: `^src/(${[...new Set(above)].join('|')})/` },
  });
});
for (const [room, folders] of Object.entries(FOLDERS)) {
  folders.forEach((folder, i) => {
    forbidden.push({
      name: `one-door-of-${room.replace('/', '-')}-${folder}`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/${room}/${folder}/` },
      to: { path: `^src/${room}/${folder}/`, pathNot: `^src/${room}/${folder}/index\\.ts$` },
    });
    if (i === 0) return;
    forbidden.push({
      name: `arrows-of-${room.replace('/', '-')}-${folder}`,
      severity: 'error',
      from: { path: `^src/${room}/${folder}/` },
      to: { path: `^src/${room}/(${folders.slice(0, i).join('|')})/` },
    });
  });
}
// What a stage-local scheduler is put together from, each beside what is below it.
const STAGE_LOCAL = [
  ...['scaling', 'pard-state', 'forming', 'dropping', 'placing', 'onward'],
  ...['queue-service', 'stage-local', 'index'],
].map((name) => `serving/stage-local/${name}`);
// Folders without a door, and what of their room they may not look at: each is below these.
const BELOW = {
  'deploy/lint': ['deploy/targets', 'deploy/index', 'deploy/lint-bundle'],
  'deploy/targets': ['deploy/index', 'deploy/lint-bundle'],
  'api/init/found': ['api/init/index', 'api/index'],
  'report/kinds': ['report/index'],
  'simulation/workflow': ['simulation/index'],
  'serving/stage-local/scaling': STAGE_LOCAL.slice(1),
  'serving/stage-local/pard-state': STAGE_LOCAL.slice(2),
  'serving/stage-local/forming': STAGE_LOCAL.slice(3),
  'serving/stage-local/dropping': STAGE_LOCAL.slice(4),
  'serving/stage-local/placing': STAGE_LOCAL.slice(5),
  'serving/stage-local/onward': STAGE_LOCAL.slice(6),
  'runtime/bundle': ['runtime/tensors', 'runtime/live', 'runtime/http', 'runtime/workflow', 'runtime/serve'],
  'runtime/tensors': ['runtime/live', 'runtime/http', 'runtime/workflow', 'runtime/serve'],
  'runtime/live': ['runtime/http', 'runtime/workflow', 'runtime/index', 'runtime/servable', 'runtime/serve'],
  'runtime/http': ['runtime/workflow', 'runtime/index', 'runtime/servable', 'runtime/serve'],
  'runtime/workflow': ['runtime/http', 'runtime/index', 'runtime/servable', 'runtime/serve'],
};
for (const [folder, above] of Object.entries(BELOW))
  forbidden.push({
    name: `below-${above.join('-').replaceAll('/', '-')}`,
    severity: 'error',
    from: { path: `^src/${folder}/` },
    to: { path: `^src/(${above.join('|')})(/|\\.ts$)` },
  });
// The folders of the engines know nothing of one another, but of the one that an engine is built on.
const ENGINES = { kserve: 'kubernetes', kuberay: 'ray-serve', kubernetes: '', 'ray-serve': '', triton: '' };
for (const [engine, base] of Object.entries(ENGINES))
  forbidden.push({
    name: `no-other-engine-in-${engine}`,
    severity: 'error',
    from: { path: `^src/deploy/targets/${engine}/` },
    to: {
      path: `^src/deploy/targets/(${Object.keys(ENGINES)
        .filter((other) => other !== engine && other !== base)
        .join('|')})/`,
    },
  });
for (const room of PURE) {
  forbidden.push({
    name: `no-io-in-${room}`,
    severity: 'error',
    from: { path: `^src/${room}/` },
    // The digest of bytes needs no file, clock or randomness.
    to: {
      dependencyTypes: ['core'],
      pathNot: room === 'formats' ? '^(node:)?(buffer|util|crypto)$' : '^(node:)?(buffer|util)$',
    },
  });
}
forbidden.push({
  name: 'no-files-in-pure-rooms',
  comment: 'What a pure room knows of files is what they hold: it is handed values.',
  severity: 'error',
  from: {
    path: `^src/(${PURE.join('|')})/`,
    pathNot: ASKS_FILES.map((file) => `^src/${file}\\.ts$`),
  },
  to: { path: '^src/artifacts/' },
});
for (const [packages, rooms] of Object.entries(ONLY_IN)) {
  forbidden.push({
    name: `only-${rooms.join('-').replaceAll('/', '-')}-imports-${packages.replaceAll('|', '-')}`,
    severity: 'error',
    from: { path: '^src/', pathNot: `^src/(${rooms.join('|')})/` },
    to: { path: `node_modules/(${packages})/` },
  });
}

module.exports = {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
