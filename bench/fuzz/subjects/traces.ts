import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../../src/formats/index.js';
import { prepareSimulation } from '../../../src/simulation/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import type { Material } from '../material.js';
import { jsonOf, type Mutated, mutateJson } from '../mutate-json.js';
import { mutateText } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';

const TRACES: readonly string[] = [
  'arrival_s\n0\n0.001\n0.0015\n0.2\n0.2\n1.5\n',
  '0\n0.5\n0.75\n1\n',
  'interval_s,count\n0.1,4\n0.1,0\n0.5,11\n',
  '1,5\n1,7\n1,0\n',
  'arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,12,40\n0.31,100,3\n0.4,1,1\n',
  'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n',
  'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-01 00:00:00.1,1,10,8\n2024-10-01 00:00:01,2,3180,8\n',
  'app,func,end_timestamp,duration\na,f,1.5,0.5\nb,g,0.9,0.1\nb,g,3,4\n',
  'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,0,3\no,a,g,queue,0,2,0\n',
];
const SCHEDULE = { data: [{ timestamp: [0] }, { timestamp: [1.5] }, { timestamp: [20] }] };
const LINES = [
  'arrival_s',
  '0',
  '-1',
  '1e9',
  '99999999999999',
  'nan',
  ',',
  ',,,',
  '0,0',
  '"1"',
  '#',
  ' 1 ',
  '1;2',
  '2023-02-30 00:00:00',
  '9999-12-31 23:59:59.999999999',
];

/** One case in this many goes through the whole command, which starts a thread. */
const WHOLE_SHARE = 0.06;

/** traces tries changed traces of arrivals: the reading of `plan simulate --trace`, and some complete simulations. */
export async function traces({ folder: material, files }: Material): Promise<Subject> {
  return {
    run: async (dice, folder) => {
      cpSync(join(material, files.plan), join(folder, 'plan.json'), { preserveTimestamps: true });
      return oneTrace(dice, folder);
    },
    close: async () => {},
  };
}

function changed(dice: Dice): Mutated<Buffer> {
  if (dice.chance(0.15)) {
    const { value, what } = mutateJson(dice, SCHEDULE);
    return { value: Buffer.from(jsonOf(value)), what: `a schedule: ${what}` };
  }
  const base = dice.pick(TRACES);
  const { value, what } = mutateText(dice, base, LINES);
  return { value, what: `${base.split('\n')[0]}: ${what}` };
}

async function oneTrace(dice: Dice, folder: string): Promise<CaseResult> {
  const { value, what } = changed(dice);
  writeFileSync(join(folder, 'trace.csv'), value);
  mkdirSync(join(folder, 'out'));
  const before = pictureOf(folder);
  const cost = new Cost();
  const format = dice.chance(0.1) ? ({ traceFormat: 'perf-analyzer-intervals' } as const) : {};
  const load = dice.chance(0.3) ? { load: dice.pick([0.1, 1, 5]) } : {};
  const duration = dice.chance(0.7) ? { duration: dice.pick([0.05, 1]) } : {};
  const faults: string[] = [];
  let isTaken = true;
  try {
    const paths = { plan: join(folder, 'plan.json'), trace: join(folder, 'trace.csv') };
    await prepareSimulation(paths.plan, {
      traces: [`dense=${paths.trace}`],
      ...format,
      ...load,
      ...duration,
    });
  } catch (error) {
    isTaken = false;
    if (!(error instanceof InputError)) faults.push(`reading the trace threw ${(error as Error).stack}`);
  }
  const isWhole = dice.chance(WHOLE_SHARE);
  if (isWhole) {
    const args = [
      'simulate',
      'plan.json',
      '--trace',
      'dense=trace.csv',
      '--duration',
      '0.05s',
      '-o',
      'out/report.json',
    ];
    const ran = await plan(
      [
        ...args,
        ...(format.traceFormat ? ['--trace-format', format.traceFormat] : []),
        ...(dice.chance(0.3) ? ['--json'] : []),
      ],
      folder,
    );
    faults.push(...faultsOf(ran, value.toString()));
  }
  faults.push(
    ...cost.faults(value.length, isWhole ? 1 : 0),
    ...changesOf(before, pictureOf(folder), ['out']),
  );
  return { what, outcome: isTaken ? 'accepted' : 'refused', faults };
}
