import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../../src/formats/index.js';
import {
  batchDim,
  bindDims,
  cutsOf,
  exposeTensors,
  extractPartition,
  freeDims,
  makeBatchSymbolic,
  nameNodes,
  type OnnxModel,
  peakBytes,
  randomNodes,
  readModel,
} from '../../../src/onnx/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import { baseModels, EXTERNAL_FILE, externalData } from '../base-models.js';
import type { Material } from '../material.js';
import { mutateProtobuf } from '../mutate-protobuf.js';
import { mutateBytes } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';

/** onnx tries changed ONNX files: `plan validate`, and everything that is done with a graph before it is run. */
export async function onnx(_: Material): Promise<Subject> {
  const bases = baseModels();
  return {
    run: (dice, folder) => oneModel(dice, folder, bases),
    close: async () => {},
  };
}

async function oneModel(dice: Dice, folder: string, bases: ReadonlyMap<string, Buffer>): Promise<CaseResult> {
  const [name, base] = dice.pick([...bases]);
  const { value, what } = dice.chance(0.85) ? mutateProtobuf(dice, base) : mutateBytes(dice, base);
  writeFileSync(join(folder, 'm.onnx'), value);
  writeFileSync(join(folder, EXTERNAL_FILE), dice.chance(0.9) ? externalData() : dice.bytes(dice.below(64)));
  const before = pictureOf(folder);
  const cost = new Cost();
  const validated = await plan(['validate', 'm.onnx', ...(dice.chance(0.2) ? ['--json'] : [])], folder);
  const faults = [...faultsOf(validated, value.toString())];
  const read = attempt('read', faults, () => readModel(value, { name: 'm.onnx' }));
  if (read === undefined && validated.code === 0) faults.push('plan validate takes what readModel refuses');
  if (read !== undefined) everythingWith(dice, read, faults);
  if (validated.code !== 0 && dice.chance(0.02))
    faults.push(...(await refusedByProfile(folder, value.toString())));
  faults.push(...cost.faults(value.length), ...changesOf(before, pictureOf(folder)));
  return { what: `${name}: ${what}`, outcome: validated.code === 0 ? 'accepted' : 'refused', faults };
}

/** refusedByProfile profiles what `plan validate` has refused, which must be refused too. */
async function refusedByProfile(folder: string, given: string): Promise<string[]> {
  const ran = await plan(['profile', 'm.onnx', '--device', 'cpu', '--max-ms', '1', '-o', '-'], folder);
  return [
    ...faultsOf(ran, given),
    ...(ran.code === 0 ? ['plan profile takes what plan validate refuses'] : []),
  ];
}

/** attempt gives what `make` gives. It is undefined where the input was refused as it should be. */
function attempt<T>(what: string, faults: string[], make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof InputError)) faults.push(`${what} threw ${(error as Error).stack}`);
    return undefined;
  }
}

/** everythingWith does with a model all that profiling, partitioning and deploying do. */
function everythingWith(dice: Dice, model: OnnxModel, faults: string[]): void {
  const { nodes } = model.graph;
  const free = attempt('freeDims', faults, () => freeDims(model)) ?? [];
  attempt('bindDims', faults, () => bindDims(model, Object.fromEntries(free.map((dim) => [dim, 2]))));
  attempt('batchDim', faults, () => batchDim(model));
  attempt('makeBatchSymbolic', faults, () => makeBatchSymbolic(model));
  attempt('randomNodes', faults, () => randomNodes(model));
  attempt('peakBytes', faults, () => peakBytes(model, { from: 0, to: nodes.length }, () => 1));
  const outputs = nodes.flatMap((node) => node.outputs).slice(0, 5);
  attempt('exposeTensors', faults, () => exposeTensors(model, outputs));
  attempt('nameNodes', faults, () => nameNodes(model));
  const cuts = attempt('cutsOf', faults, () => cutsOf(model)) ?? [];
  const [from, to] = [dice.below(nodes.length + 1), dice.below(nodes.length + 1)].sort((a, b) => a - b) as [
    number,
    number,
  ];
  const ends = cuts.length === 0 ? [] : [dice.pick(cuts).position];
  for (const [start, end] of [[from, to], [0, nodes.length], ...ends.map((at) => [0, at])] as [
    number,
    number,
  ][])
    extractedIsReadable(dice, model, { from: start, to: end }, faults);
}

/** extractedIsReadable extracts a part of a model. The result must be a readable model. */
function extractedIsReadable(
  dice: Dice,
  model: OnnxModel,
  range: { from: number; to: number },
  faults: string[],
): void {
  const boundary = dice.pick(['exact', 'float16'] as const);
  const extracted = attempt('extractPartition', faults, () =>
    extractPartition(model, { ...range, types: new Map(), boundary, dataFile: 'd' }),
  );
  if (extracted === undefined) return;
  try {
    readModel(extracted.bytes, { name: 'the extracted part' });
  } catch (error) {
    faults.push(`the part of nodes ${range.from} to ${range.to} is no model: ${(error as Error).message}`);
  }
}
