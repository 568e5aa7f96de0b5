// The arrows of ARCHITECTURE.md, as a check. Rooms from the street to the cellar: a room may look at those after it.
const ROOMS = [
  'cli',
  'report',
  'api',
  'deploy',
  'runtime',
  'gearplan',
  'inferline',
  'simulator',
  'milp',
  'profiler',
  'partition',
  'execution',
  'serving',
  'workload',
  'metrics',
  'random',
  'onnx',
  'artifacts',
];
const SIDE_BY_SIDE = [['workload', 'metrics', 'random']];
// The drivers and the planners never look at one another, but for these arrows.
const APART = ['runtime', 'gearplan', 'inferline', 'simulator', 'milp'];
const EXCEPT = { gearplan: ['simulator', 'milp'], inferline: ['simulator'] };
const PURE = [
  'serving',
  'milp',
  'partition',
  'metrics',
  'workload',
  'gearplan',
  'inferline',
  'simulator',
  'random',
  'onnx',
];
const ONLY_IN = {
  highs: ['milp'],
  'onnxruntime-node': ['execution'],
  'onnx-proto|protobufjs': ['onnx'],
  'chalk|table|ora|commander': ['cli'],
  'fastify|prom-client': ['runtime'],
};

const forbidden = [
  { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
  { name: 'not-resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  {
    name: 'rooms-have-one-door',
    comment: 'Another room is entered by its index.ts.',
    severity: 'error',
    from: { path: '^src/([^/]+)/' },
    to: { path: '^src/[^/]+/', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
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
  if (APART.includes(room))
    above.push(...APART.filter((r) => r !== room && !(EXCEPT[room] ?? []).includes(r)));
  if (above.length === 0) return;
  forbidden.push({
    name: `arrows-of-${room}`,
    severity: 'error',
    from: { path: `^src/${room}/` },
    to: { path: `^src/(${[...new Set(above)].join('|')})/` },
  });
});
for (const room of PURE) {
  forbidden.push({
    name: `no-io-in-${room}`,
    severity: 'error',
    from: { path: `^src/${room}/` },
    to: { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|util)$' },
  });
}
for (const [packages, rooms] of Object.entries(ONLY_IN)) {
  forbidden.push({
    name: `only-${rooms.join('-')}-imports-${packages.replaceAll('|', '-')}`,
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
