import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { deflateRawSync } from 'node:zlib';

const EXAMPLE_PLAN = join(
  dirname(createRequire(import.meta.url).resolve('#package')),
  'examples/pooled/expected-plan.json',
);

/** Grown is a command with the files that it reads, of which something has a size. */
export interface Grown {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly args: readonly string[];
}

/** Grower makes a list or a number of any size, for the command that reads it. */
export interface Grower {
  /** The first size, which is multiplied by 10 until a limit answers. */
  readonly from: number;
  readonly of: (size: number) => Grown;
}

const times = (count: number, text: string | ((i: number) => string), between = ','): string =>
  typeof text === 'string'
    ? `${`${text}${between}`.repeat(Math.max(0, count - 1))}${text}`
    : Array.from({ length: count }, (_, i) => text(i)).join(between);

const validate = (name: string, content: string): Grown => ({
  files: { [name]: content },
  args: ['validate', name],
});

/** of makes a file of a kind in which one list has so many entries, each of which is wrong. */
const wrong = (kind: string, field: string, entry: string): Grower => ({
  from: 1000,
  of: (size) =>
    validate('file.json', `{"kind":"${kind}","version":"1.0","${field}":[${times(size, entry)}]}`),
});

const profile = (latencies: string, more = '"blocks":[{"cutBytes":0}]'): string =>
  `{"kind":"profile","version":"1.0","model":{"name":"m"},${more},"devices":{"gpu":{"blockLatencyUs":{"1":${latencies}}}}}`;

const ONE = profile('{"1":[1000],"2":[1500]}');
const cluster = (count: number | string): string =>
  `{"kind":"cluster","devices":{"gpu":{"count":${count},"hourlyCost":1}}}`;

const pooled = (models: string, more = ''): string =>
  `{"kind":"pooled","cluster":"cluster.json","models":[${models}]${more}}`;
const POOLED_MODEL = '{"profile":"m.json","sloMs":100}';
const pipeline = (stages: string, more = '"load":{"arrivals":"poisson","rps":50,"duration":"1s"}'): string =>
  `{"kind":"pipeline","cluster":"cluster.json","stages":[${stages}],"sloMs":100,"attainment":0.9,"planner":{"method":"inferline"},${more}}`;
const STAGE = '{"name":"a","profile":"m.json"}';
const cascade = (models: string, more = '"load":{"maxRps":10,"ranges":2}'): string =>
  `{"kind":"cascade","cluster":"cluster.json","records":"records.csv","slo":{"latencyMs":100},"planner":{"method":"gears"},"models":[${models}],${more}}`;
const CASCADE_MODEL = '{"name":"m0","profile":"m.json"}';
const records = (samples: number): string =>
  `sample,model,prediction,label,certainty\n${times(samples, (i) => `${i},m0,1,${i % 2},0.5`, '\n')}\n`;

const solving = (spec: string, more: Grown['files'] = {}): Grown => ({
  files: {
    'm.json': ONE,
    'cluster.json': cluster(2),
    'records.csv': records(10),
    'spec.json': spec,
    ...more,
  },
  args: ['solve', 'spec.json', '-o', 'plan.json'],
});

const workflow = (components: string, workflows: string, more = '"rps":5'): string =>
  `{"kind":"workflow","cluster":"cluster.json","components":[${components}],"workflows":[${workflows}],${more}}`;
const COMPONENT = '{"name":"c0","profile":"m.json","memoryGiB":1,"loadMs":10}';
const call = (inputs = '"request"'): string => `{"component":"c0","inputs":[${inputs}],"outputBytes":10}`;
const chain = (steps: string): string => `"chain":{"requestBytes":10,"start":"s0","steps":[${steps}]}`;
const STEP = `{"name":"s0","calls":[${call()}]}`;
const WORKFLOW = `{"name":"w0",${chain(STEP)}}`;

/** sampling sends the samples of an archive through the model of a cascade. */
const sampling = (archive: Uint8Array): Grown => ({
  ...solving(cascade(CASCADE_MODEL), {
    'm.json': ONE.replace(
      '"name":"m"',
      '"name":"m","file":"m.onnx","inputs":[{"name":"x","dtype":"float32","shape":[1,4],"batchAxis":0}],"outputs":[{"name":"y","dtype":"float32","shape":[1,3],"batchAxis":0}]',
    ),
    'm.onnx': 'none',
    'x.npz': archive,
    'y.csv': '1\n'.repeat(300),
  }),
  args: ['profile', 'spec.json', '--samples', 'x.npz', '--labels', 'y.csv'],
});

/** planning solves a spec of workflows on so many devices. */
const planning = (spec: string, more: Grown['files'] = {}, count = 2): Grown =>
  solving(spec, {
    'cluster.json': `{"kind":"cluster","devices":{"gpu":{"count":${count},"memoryGiB":8}}}`,
    ...more,
  });
const run = (tasks: string): string =>
  `{"kind":"run","version":"1.0","application":"w0","requestBytes":10,"tasks":[${tasks}]}`;
const task = (inputs: string, after = ''): string =>
  `{"component":"c0","inputs":[${inputs}],"after":[${after}],"outputBytes":10,"rows":1}`;
const ofRuns = (text: string): Grown =>
  planning(workflow(COMPONENT, '{"name":"w0","runs":"w.jsonl"}'), { 'w.jsonl': text });

const trace = (csv: string, ...args: string[]): Grown => ({
  files: { 'trace.csv': csv },
  args: ['trace', ...args],
});

/** simulating simulates the example's plan, which is away from its spec. */
const simulating = (...args: string[]): Grown => ({
  files: { 'plan.json': readFileSync(EXAMPLE_PLAN, 'utf8') },
  args: ['simulate', 'plan.json', ...args],
});

/** drawn makes a number an option of a simulation of a second. */
const drawn = (from: number, of: (size: number) => string[], ...more: string[]): Grower => ({
  from,
  of: (size) => simulating(...of(size), ...more),
});
const BRIEFLY = ['--duration', '100ms'];

const given = (name: string): string =>
  `{"name":"${name}","profile":"m.json","device":"gpu","batch":1,"replicas":1}`;

/** GROWERS are the lists and numbers of files and options, by their names. */
export const GROWERS: Readonly<Record<string, Grower>> = {
  'gears of a gear plan': wrong('gear-plan', 'gears', '{}'),
  'inputs of a plan': {
    from: 10,
    of: (size) => {
      const plan = JSON.parse(readFileSync(EXAMPLE_PLAN, 'utf8')) as Record<string, unknown>;
      const inputs = Array.from({ length: size }, (_, i) => ({
        role: 'profile',
        path: `p${i}.json`,
        sha256: '0'.repeat(64),
      }));
      return {
        files: { 'plan.json': JSON.stringify({ ...plan, inputs }) },
        args: ['simulate', 'plan.json', ...BRIEFLY],
      };
    },
  },
  'placement of a pooled plan': wrong('pooled-plan', 'placement', '{}'),
  'models of a load report': wrong('load-report', 'models', '{}'),
  'models of a simulation report': wrong('simulation-report', 'models', '{}'),
  'stages of a pipeline plan': wrong('pipeline-plan', 'stages', '{}'),
  'rows of a comparison': wrong('comparison', 'rows', '{}'),
  'unknown keys of a spec': {
    from: 1000,
    of: (size) => validate('file.json', `{"kind":"pooled",${times(size, (i) => `"key${i}":1`)}}`),
  },
  'numbers that are not finite': {
    from: 1000,
    of: (size) => validate('file.json', `{"kind":"profile","blocks":[${times(size, '1e999')}]}`),
  },
  'letters of a name': {
    from: 1000,
    of: (size) => validate('file.json', `{"kind":"${'x'.repeat(size)}"}`),
  },
  'levels of JSON': {
    from: 10,
    of: (size) => validate('file.json', `{"kind":${'['.repeat(size)}${']'.repeat(size)}}`),
  },
  'commas of YAML': { from: 1000, of: (size) => validate('file.yaml', `kind: [${','.repeat(size)}]`) },
  'keys of YAML': {
    from: 1000,
    of: (size) =>
      validate(
        'file.yaml',
        times(size, (i) => `k${i}: 1`, '\n'),
      ),
  },
  'blocks of a profile': {
    from: 1000,
    of: (size) =>
      validate(
        'm.json',
        profile(`{"1":[${times(size, '1')}]}`, `"blocks":[${times(size, '{"cutBytes":0}')}]`),
      ),
  },
  'batch sizes of a profile': {
    from: 100,
    of: (size) => validate('m.json', profile(`{${times(size, (i) => `"${i + 1}":[${1000 + i}]`)}}`)),
  },
  'largest batch of a profile': {
    from: 100,
    of: (size) => solving(pooled(POOLED_MODEL), { 'm.json': profile(`{"1":[1000],"${size}":[50000]}`) }),
  },
  'classes of a cluster': {
    from: 100,
    of: (size) =>
      validate('cluster.json', `{"kind":"cluster","devices":{${times(size, (i) => `"c${i}":{"count":1}`)}}}`),
  },
  'nodes of a cluster that is begun': {
    from: 100,
    of: (size) => {
      const status = '"status":{"capacity":{"nvidia.com/gpu":"8","cpu":"96","memory":"1Ti"}}';
      const labels = '"labels":{"nvidia.com/gpu.product":"L4","nvidia.com/gpu.memory":"23034"}';
      const node = (i: number) => `{"kind":"Node","metadata":{"name":"n${i}",${labels}},${status}}`;
      return {
        files: { 'nodes.json': `{"kind":"List","items":[${times(size, node)}]}` },
        args: ['init', '--from-kubectl', 'nodes.json', '-o', 'made.yaml', '--force'],
      };
    },
  },
  'faults of nodes': {
    from: 100,
    of: (size) => ({
      files: { 'nodes.json': `{"kind":"List","items":[${times(size, '{"kind":"Node"}')}]}` },
      args: ['init', '--from-kubectl', 'nodes.json', '-o', 'made.yaml', '--force'],
    }),
  },
  'nodes of Ray': {
    from: 100,
    of: (size) => {
      const node = (i: number) =>
        `{"node_name":"n${i}","state":"ALIVE","resources_total":{"GPU":${1 + (i % 10_000)}.0,"accelerator_type:L4":1}}`;
      return {
        files: { 'nodes.json': `[${times(size, node)}]` },
        args: ['init', '--from-ray', 'nodes.json', '-o', 'made.yaml', '--force'],
      };
    },
  },
  'GPUs of a pooled spec': {
    from: 1000,
    of: (size) => solving(pooled(POOLED_MODEL), { 'cluster.json': cluster(size) }),
  },
  'GPUs of a cascade': {
    from: 10,
    of: (size) => solving(cascade(CASCADE_MODEL), { 'cluster.json': cluster(size) }),
  },
  'models of a pooled spec': { from: 10, of: (size) => solving(pooled(times(size, POOLED_MODEL))) },
  'stages of a pipeline': {
    from: 10,
    of: (size) => solving(pipeline(times(size, (i) => `{"name":"s${i}","profile":"m.json"}`))),
  },
  'edges of a stage': {
    from: 10,
    of: (size) =>
      solving(
        pipeline(
          `{"name":"a","profile":"m.json","next":[${times(size, '"b"')}]},{"name":"b","profile":"m.json"}`,
        ),
      ),
  },
  'replicas of a stage': {
    from: 1000,
    of: (size) =>
      solving(pipeline(`{"name":"a","profile":"m.json","device":"gpu","batch":1,"replicas":${size}}`)),
  },
  'rate of a pipeline': {
    from: 10,
    of: (size) =>
      solving(pipeline(STAGE, `"load":{"arrivals":"poisson","rps":${size},"duration":"1s"}`), {
        'cluster.json': '{"kind":"cluster","devices":{"gpu":{"hourlyCost":1}}}',
      }),
  },
  'models of a cascade': {
    from: 10,
    of: (size) => solving(cascade(times(size, (i) => `{"name":"m${i}","profile":"m.json"}`))),
  },
  'ranges of a load': {
    from: 10,
    of: (size) => solving(cascade(CASCADE_MODEL, `"load":{"maxRps":10,"ranges":${size}}`)),
  },
  'lines of a distribution of a load': {
    from: 10,
    of: (size) =>
      solving(cascade(CASCADE_MODEL, '"load":{"maxRps":10,"distribution":"shares.csv"}'), {
        'shares.csv': `rps,share\n${times(size, (i) => `${(10 * (i + 1)) / size},${1 / size}`, '\n')}\n`,
      }),
  },
  'thresholds of a cascade': {
    from: 10,
    of: (size) =>
      solving(cascade(CASCADE_MODEL).replace('"method":"gears"', `"method":"gears","thresholds":${size}`)),
  },
  'classes that records tell': {
    from: 10,
    of: (size) =>
      solving(cascade(CASCADE_MODEL), {
        'records.csv': `sample,model,prediction,label,certainty\n${times(size, (i) => `${i},m0,${i},${i},0.5`, '\n')}\n`,
      }),
  },
  'applications of a pipeline': {
    from: 10,
    of: (size) =>
      solving(
        pipeline(
          given('a'),
          `"applications":[${times(size, (i) => `{"name":"a${i}","sloMs":100,"share":${1 / size}}`)}],"load":{"arrivals":"poisson","rps":50,"duration":"1s"}`,
        ).replace('"sloMs":100,"attainment"', '"attainment"'),
      ),
  },
  'objectives of a pipeline': {
    from: 10,
    of: (size) =>
      solving(
        pipeline(
          given('a'),
          `"objectives":[${times(size, (i) => `{"sloMs":${100 + i},"attainment":0.9}`)}],"load":{"arrivals":"poisson","rps":50,"duration":"1s"}`,
        ).replace('"sloMs":100,"attainment":0.9,"planner"', '"planner"'),
      ),
  },
  'duration of a load': {
    from: 1,
    of: (size) =>
      solving(pipeline(STAGE, `"load":{"arrivals":"poisson","rps":50,"duration":"${size}s"}`), {
        'cluster.json': '{"kind":"cluster","devices":{"gpu":{"hourlyCost":1}}}',
      }),
  },
  'components of workflows': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          times(size, (i) => `{"name":"c${i}","profile":"m.json","memoryGiB":0.001,"loadMs":10}`),
          WORKFLOW,
        ),
      ),
  },
  'workflows of a spec': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          COMPONENT,
          times(size, (i) => WORKFLOW.replace('w0', `w${i}`)),
        ),
      ),
  },
  'steps of a chain': {
    from: 10,
    of: (size) => {
      const step = (i: number) =>
        `{"name":"s${i}","calls":[${call()}],"next":"${i + 1 < size ? `s${i + 1}` : 'end'}"}`;
      return planning(workflow(COMPONENT, `{"name":"w0",${chain(times(size, step))}}`));
    },
  },
  'calls of a step': {
    from: 10,
    of: (size) =>
      planning(
        workflow(COMPONENT, `{"name":"w0",${chain(`{"name":"s0","calls":[${times(size, call())}]}`)}}`),
      ),
  },
  'inputs of a call': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          COMPONENT,
          `{"name":"w0",${chain(`{"name":"s0","calls":[${call(times(size, '"request"'))}]}`)}}`,
        ),
      ),
  },
  'edges of a step of a chain': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          COMPONENT,
          `{"name":"w0",${chain(`{"name":"s0","calls":[${call()}],"next":[${times(size, '{"to":"end","chance":1e-9}')}]}`)}}`,
        ),
      ),
  },
  'devices of workflows': { from: 10, of: (size) => planning(workflow(COMPONENT, WORKFLOW), {}, size) },
  'subclusters of workflows': {
    from: 10,
    of: (size) =>
      planning(workflow(COMPONENT, WORKFLOW, `"rps":5,"planner":{"subclusters":${size}}`), {}, 4096),
  },
  'given devices of workflows': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          COMPONENT,
          WORKFLOW,
          `"rps":5,"planner":{"method":"given"},"placement":[${times(size, '{"device":"gpu","count":1,"holds":["c0"]}')}]`,
        ),
        {},
        4096,
      ),
  },
  'rate of workflows': {
    from: 10,
    of: (size) => planning(workflow(COMPONENT, WORKFLOW, `"rps":${size}`)),
  },
  'rows of a call': {
    from: 10,
    of: (size) =>
      planning(
        workflow(
          COMPONENT,
          `{"name":"w0",${chain(STEP.replace('"outputBytes"', `"rows":${size},"outputBytes"`))}}`,
        ),
      ),
  },
  'tasks of a recorded run': {
    from: 10,
    of: (size) => ofRuns(run(times(size, (i) => task(i === 0 ? '"request"' : `${i - 1}`)))),
  },
  'inputs of a recorded task': {
    from: 10,
    of: (size) => ofRuns(run(task(times(size, '"request"')))),
  },
  'lines of recorded runs': { from: 1000, of: (size) => ofRuns(times(size, run(task('"request"')), '\n')) },
  'letters of a line of recorded runs': {
    from: 1000,
    of: (size) => ofRuns(run(task('"request"')).replace('"w0"', `"${'w'.repeat(size)}"`)),
  },
  'placement of a workflow plan': wrong('workflow-plan', 'placement', '{}'),
  'components of a workflow plan': wrong('workflow-plan', 'components', '{}'),
  'workflows of a workflow plan': wrong('workflow-plan', 'workflows', '{}'),
  'threads of a device': {
    from: 1000,
    of: (size) => ({ ...solving(pooled(POOLED_MODEL)), args: ['profile', 'm.onnx', '-d', `cpu:${size}`] }),
  },
  'lines of a trace': { from: 1000, of: (size) => trace('0\n'.repeat(size), 'describe', 'trace.csv') },
  'intervals of a trace': {
    from: 1000,
    of: (size) => trace(`interval_s,count\n${'1,1\n'.repeat(size)}`, 'describe', 'trace.csv'),
  },
  'windows of a trace': {
    from: 1000,
    of: (size) => trace('0\n1000\n', 'describe', 'trace.csv', '--window', `${(1000 / size).toFixed(9)}s`),
  },
  'duration of a simulation': drawn(1, (size) => ['--duration', `${size}s`], '--rps', '0.001'),
  'rate of a simulation': drawn(10, (size) => ['--rps', `${size}`], '--duration', '1ms'),
  'load of a simulation': drawn(1, (size) => ['--load', `${size}`], '--duration', '1ms'),
  'seed of a simulation': drawn(1000, (size) => ['--seed', `${size}`], ...BRIEFLY),
  'runs of a simulation': drawn(10, (size) => ['--runs', `${size}`], '--duration', '1ms'),
  'points of a sweep': drawn(10, (size) => ['--sweep', `load=1..2:${size}`], '--duration', '1ms'),
  'windows of a simulation': drawn(
    10,
    (size) => ['--windows', `${(1000 / size).toFixed(9)}ms`],
    '--duration',
    '1s',
  ),
  'phases of a load': drawn(10, (size) =>
    Array.from({ length: Math.min(size, 5000) }, () => '--phase=1ms,load=1'),
  ),
  'burstiness of arrivals': drawn(1, (size) => ['--cv', `${size}`, '--arrivals', 'gamma'], ...BRIEFLY),
  'spread of executions': drawn(1, (size) => ['--jitter', `${size}`], ...BRIEFLY),
  'slowness of executions': drawn(1, (size) => ['--slow', `${size}`], ...BRIEFLY),
  'priorities of a load': drawn(
    10,
    (size) => ['--priorities', times(Math.min(size, 10_000), (i) => `${i}=${1 / size}`)],
    ...BRIEFLY,
  ),
  'rate of a load that is sent': {
    from: 1_000_000,
    of: (size) => ({
      files: {},
      args: ['load', 'http://127.0.0.1:1', '--duration', '1s', '--rps', `${10 * size}`],
    }),
  },
  'samples of records': {
    from: 1000,
    of: (size) => solving(cascade(CASCADE_MODEL), { 'records.csv': records(size) }),
  },
  'rows of an unpacked array': {
    from: 1000,
    of: (size) => sampling(archived(zeros(size), ['x'])),
  },
  'arrays of an archive': {
    from: 10,
    of: (size) =>
      sampling(
        archived(
          zeros(1),
          Array.from({ length: size }, (_, i) => (i === 0 ? 'x' : `x${i}`)),
        ),
      ),
  },
  'mixes of a comparison': {
    from: 10,
    of: (size) => ({
      ...solving(pooled(POOLED_MODEL), { mixes: times(size, (i) => `gpu=${i + 1}`, '\n') }),
      args: ['compare', 'spec.json', '--mix-file', 'mixes', '--work', '1000'],
    }),
  },
  'budget of a comparison': {
    from: 10,
    of: (size) => ({
      ...solving(pooled(POOLED_MODEL)),
      args: ['compare', 'spec.json', '--budget', `${size}`, '--work', '1000'],
    }),
  },
  'intervals of a trace that is made': {
    from: 1000,
    of: (size) =>
      trace(
        '0\n1\n',
        'convert',
        'trace.csv',
        '--to',
        'counts',
        '--interval',
        `${(1 / size).toFixed(12)}s`,
        '-o',
        'made.csv',
      ),
  },
  'requests of a trace that is made': {
    from: 1000,
    of: (size) =>
      trace(`interval_s,count\n1,${size}\n`, 'convert', 'trace.csv', '--to', 'arrivals', '-o', 'made.csv'),
  },
  'rate of a trace that is rescaled': {
    from: 1000,
    of: (size) =>
      trace('0\n0.5\n1\n', 'rescale', 'trace.csv', '--rps', `${size}`, '--duration', '1s', '-o', 'made.csv'),
  },
};

/** zeros is an array of rows of four zeros, as NumPy writes it. */
function zeros(rows: number): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, 4), }`.padEnd(117);
  return Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
    Buffer.from([118, 0]),
    Buffer.from(`${header}\n`),
    Buffer.alloc(16 * Math.min(rows, 1e7)),
  ]);
}

/** archived packs one array under each of the names, as NumPy does. More than 65,535 names are counted as that many. */
function archived(array: Buffer, names: readonly string[]): Uint8Array {
  // The checksum of what is never unpacked is never looked at.
  const body = deflateRawSync(array);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt32LE(body.length, 14);
  common.writeUInt32LE(array.length, 18);
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let start = 0;
  for (const text of names) {
    const name = Buffer.from(`${text}.npy`);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, body]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(start, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, place, name]));
    locals.push(local);
    start += local.length;
  }
  const listed = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(Math.min(names.length, 0xffff), 8);
  end.writeUInt16LE(Math.min(names.length, 0xffff), 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(start, 16);
  return Buffer.concat([...locals, listed, end]);
}
