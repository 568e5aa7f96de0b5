import { itemAt } from '../../../collections/index.js';
import { US_PER_S } from '../../../formats/index.js';
import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import { frontsOn, sharedMemoryOn, type TritonPlan, tritonPlanOf } from './bundle.js';
import { configsOn, SEAT } from './config.js';
import { configPath } from './names.js';
import { pythonModels } from './python-models.js';
import { MPS_START, needsMps, serverPath } from './scripts.js';
import { isOnCpu, type Layout } from './servers.js';

const RATE_ERROR = 0.01;

/** Script is a start script, with the kind of server that it starts. */
interface Script {
  readonly file: string;
  readonly text: string;
  readonly layout: Layout;
  readonly triton: TritonPlan;
  readonly bundle: LintedBundle;
}

function ofScripts(name: string, check: (script: Script) => Iterable<RuleFinding>): LintRule {
  return {
    name,
    breaks: 'fault',
    *check(bundle) {
      const triton = tritonPlanOf(bundle);
      for (const layout of triton.layouts) {
        const file = serverPath(layout, 'start.sh');
        if (bundle.files.has(file))
          yield* check({ file, text: bundle.files.text(file), layout, triton, bundle });
      }
    },
  };
}

/** lineWith gives the first line of a text that a pattern matches; undefined where none does. */
function lineWith(text: string, pattern: RegExp): number | undefined {
  const index = text.split('\n').findIndex((line) => pattern.test(line) && !line.startsWith('#'));
  return index < 0 ? undefined : index + 1;
}

/** optionsOf gives the values of an option of tritonserver, with their lines. */
function optionsOf(text: string, option: string): { value: string; line: number }[] {
  return text.split('\n').flatMap((line, i) => {
    const found = new RegExp(`^\\s*--${option}=(\\S+)`).exec(line);
    return found === null ? [] : [{ value: itemAt(found, 1), line: i + 1 }];
  });
}

/** lastLine is where options stand, for what a script lacks. */
function lastLine(text: string): number {
  return lineWith(text, /^exec /) ?? 1;
}

const FILES: LintRule = {
  name: 'server-files',
  breaks: 'fault',
  *check(bundle) {
    const triton = tritonPlanOf(bundle);
    for (const layout of triton.layouts)
      for (const file of ['start.sh', 'perf.sh'].map((one) => serverPath(layout, one)))
        if (!bundle.files.has(file))
          yield { file, message: `is missing: nothing starts or loads ${layout.servers[0]}` };
    for (const file of pythonModels(triton).keys())
      if (!bundle.files.has(file)) yield { file, message: 'is missing' };
  },
};

const AUTO_COMPLETE = ofScripts('auto-complete', function* ({ file, text }) {
  if (lineWith(text, /^\s*--disable-auto-complete-config(\s|$)/) === undefined)
    yield {
      file,
      line: lastLine(text),
      message: 'lacks --disable-auto-complete-config: Triton would raise a max_batch_size of 0 to 4',
    };
});

const LOADED = ofScripts('members-loaded', function* ({ file, text, layout, triton }) {
  const [mode] = optionsOf(text, 'model-control-mode');
  if (mode?.value !== 'explicit')
    yield {
      file,
      line: mode?.line ?? lastLine(text),
      message: `has the model control mode ${mode?.value ?? 'none'}: it would load models of other servers too; write explicit`,
    };
  const loaded = optionsOf(text, 'load-model');
  const wanted = configsOn(triton, layout).map(({ model }) => model);
  for (const model of wanted)
    if (!loaded.some(({ value }) => value === model))
      yield { file, line: lastLine(text), message: `lacks --load-model=${model}, which others call` };
  for (const { value, line } of loaded)
    if (!wanted.includes(value))
      yield { file, line, message: `loads ${value}, which the plan has not there` };
});

const CONFIG_NAME = ofScripts('config-name', function* ({ file, text, layout, triton, bundle }) {
  const [given] = optionsOf(text, 'model-config-name');
  const isOwn = configsOn(triton, layout).some(({ model }) =>
    bundle.files.has(configPath(model, layout.name)),
  );
  if (isOwn && given?.value !== layout.name)
    yield {
      file,
      line: given?.line ?? lastLine(text),
      message: `lacks --model-config-name=${layout.name}: ${layout.servers[0]} would take the instances of another server`,
    };
});

const MPS = ofScripts('mps', function* ({ file, text, layout }) {
  if (needsMps(layout) && lineWith(text, new RegExp(MPS_START)) === undefined)
    yield {
      file,
      line: lastLine(text),
      message: `does not start NVIDIA's MPS (${MPS_START}), and the plan divides GPUs`,
    };
  const limit = lineWith(text, /CUDA_MPS_ACTIVE_THREAD_PERCENTAGE/);
  if (limit !== undefined)
    yield {
      file,
      line: limit,
      message:
        'sets CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, which would hold for all instances of the server together',
    };
});

const SEAT_LIMITS = ofScripts('rate-limit', function* ({ file, text, layout }) {
  if (!layout.isShared) return;
  if (optionsOf(text, 'rate-limit')[0]?.value !== 'execution_count')
    yield {
      file,
      line: lastLine(text),
      message: 'lacks --rate-limit=execution_count: rate limiters have no effect without it',
    };
  const limits = optionsOf(text, 'rate-limit-resource');
  for (const [gpu, seats] of isOnCpu(layout) ? [] : layout.seats)
    if (!limits.some(({ value }) => value === `${SEAT}:${seats}:${gpu}`))
      yield {
        file,
        line: lastLine(text),
        message: `lacks --rate-limit-resource=${SEAT}:${seats}:${gpu}, by which GPU ${gpu} runs ${seats} batches at a time`,
      };
});

const SHARED_MEMORY = ofScripts('shared-memory', function* ({ file, text, layout, triton }) {
  const wanted = sharedMemoryOn(triton, layout);
  if (wanted === undefined) return;
  const [given] = optionsOf(text, 'backend-config');
  const bytes = Number(/^python,shm-default-byte-size=([0-9]+)$/.exec(given?.value ?? '')?.[1] ?? 0);
  if (bytes < wanted.bytesEach)
    yield {
      file,
      line: given?.line ?? lastLine(text),
      message: `gives each Python process ${bytes} bytes of shared memory, and a request needs ${wanted.bytesEach}`,
    };
  const line = lineWith(text, /^need=/);
  const need = Number(/^need=([0-9]+)$/m.exec(text)?.[1] ?? 0);
  if (need < wanted.processes * wanted.bytesEach)
    yield {
      file,
      line: line ?? lastLine(text),
      message: `looks for ${need} bytes in /dev/shm, and ${wanted.processes} Python processes need ${wanted.processes * wanted.bytesEach}`,
    };
});

const DROPS: LintRule = {
  name: 'drops',
  breaks: 'fault',
  *check({ files }) {
    for (const [file, text] of files.texts)
      if (/\/1\/members\.py$/.test(file) && !/pb\.TritonError\([^\n]*TritonError\.UNAVAILABLE\)/.test(text))
        yield {
          file,
          line: lineWith(text, /TritonError\(/) ?? 1,
          message:
            'does not answer a drop with TritonError.UNAVAILABLE: clients would be told 500 and not 503',
        };
  },
};

const INTERVALS: LintRule = {
  name: 'intervals',
  breaks: 'fault',
  *check(bundle) {
    const triton = tritonPlanOf(bundle);
    for (const layout of triton.layouts)
      for (const { name, rps } of frontsOn(triton, layout)) {
        const file = serverPath(layout, `${name}.intervals`);
        if (!bundle.files.has(file)) {
          yield { file, message: 'is missing' };
          continue;
        }
        const lines = bundle.files.text(file).trimEnd().split('\n');
        const wrong = lines.findIndex((line) => !/^[1-9][0-9]*$/.test(line));
        if (wrong >= 0)
          yield {
            file,
            line: wrong + 1,
            message: `is ${JSON.stringify(lines[wrong])}, and must be whole µs`,
          };
        else yield* rateOf({ file, lines, rps });
      }
  },
};

function* rateOf({
  file,
  lines,
  rps,
}: {
  file: string;
  lines: readonly string[];
  rps: number;
}): Generator<RuleFinding> {
  const mean = lines.reduce((sum, line) => sum + Number(line), 0) / lines.length;
  const given = US_PER_S / mean;
  if (Math.abs(given - rps) > RATE_ERROR * rps + rps * (1 / mean))
    yield {
      file,
      line: 1,
      message: `holds ${given.toPrecision(4)} requests per second, and the plan brings ${rps.toPrecision(4)}`,
    };
}

/** SERVER_RULES look at what starts and loads the servers. */
export const SERVER_RULES: readonly LintRule[] = [
  ...[FILES, AUTO_COMPLETE, LOADED, CONFIG_NAME, MPS, SEAT_LIMITS, SHARED_MEMORY, DROPS, INTERVALS],
];
