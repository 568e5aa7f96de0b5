import { counted, type Fault, fault, InputError, shown } from '../formats/index.js';
import { prefixSums, weightsOf } from './figures.js';
import { greedyEnds } from './greedy.js';
import { minTransferEnds } from './min-transfer.js';
import type { PartitionInput, Partitioning, PartitionOptions } from './types.js';

/** DEFAULT_BLOCKS is the number of blocks that PPipe (section 5.2) found to be a good balance. */
export const DEFAULT_BLOCKS = 10;

/**
 * partitionLayers groups consecutive layers into blocks, and cuts only where a cut is valid.
 *
 * The method `greedy` (PPipe, section 5.2) is described at `greedyEnds`, and `min-transfer` at `minTransferEnds`. Both
 * return fewer blocks than wanted, with a note, if there are fewer valid cuts than blocks − 1. `greedy` also does if
 * blocks came out longer than their share, as one long layer makes them. If all layers of a class take 0 µs, layers
 * are counted instead, with a note.
 * @throws InputError with every fault: no layers or no device class, lists of unlike lengths, negative or non-finite
 *   figures, a number of blocks that is not a whole one from 1 on, or a `device` that the input lacks
 */
export function partitionLayers(input: PartitionInput, options: PartitionOptions = {}): Partitioning {
  const faults = [...inputFaults(input), ...optionFaults(input, options)];
  if (faults.length > 0) throw new InputError('group layers into blocks', faults);
  const wanted = options.blocks ?? DEFAULT_BLOCKS;
  const notes: string[] = [];
  const most = validCuts(input) + 1;
  const blocks = Math.min(wanted, most);
  if (blocks < wanted) notes.push(fewerCuts(input, wanted, most));
  return options.method === 'min-transfer'
    ? minTransfer(input, blocks, notes)
    : greedy(input, options.device ?? classesOf(input)[0]!, { wanted, blocks, notes });
}

function greedy(
  input: PartitionInput,
  device: string,
  { wanted, blocks, notes }: { wanted: number; blocks: number; notes: string[] },
): Partitioning {
  const weights = weightsOf(input.layerLatencyUs[device]!);
  if (weights.uniform) notes.push(`every layer takes 0 µs on ${device}: layers are counted instead`);
  const ends = greedyEnds(prefixSums(weights.values), input.cutBytes, wanted);
  if (ends.length < blocks) {
    notes.push(
      `${ends.length} blocks instead of ${wanted}: blocks came out longer than 1/${wanted} of the runtime where cuts are far apart`,
    );
  }
  return { ends, method: 'greedy', device, notes };
}

function minTransfer(input: PartitionInput, blocks: number, notes: string[]): Partitioning {
  const prefixes = Object.entries(input.layerLatencyUs).map(([device, latencies]) => {
    const weights = weightsOf(latencies);
    if (weights.uniform) notes.push(`every layer takes 0 µs on ${device}: layers are counted instead`);
    return prefixSums(weights.values);
  });
  const { ends, lower, upper, relaxed } = minTransferEnds(prefixes, input.cutBytes, blocks);
  if (!relaxed) return { ends, method: 'min-transfer', notes };
  notes.push(
    `no cut into ${blocks} blocks keeps each between 0.5 and 1.5 of the average on every device; bounds used: ${round(lower)} and ${round(upper)}`,
  );
  return { ends, method: 'min-transfer', relaxation: { lower, upper }, notes };
}

function fewerCuts(input: PartitionInput, wanted: number, most: number): string {
  const layers = input.cutBytes.length;
  return wanted > layers
    ? `at most ${most} blocks instead of ${wanted}: the model has ${counted(layers, 'layer')} and ${counted(most - 1, 'valid cut')}`
    : `at most ${most} blocks instead of ${wanted}: the model has ${counted(most - 1, 'valid cut')}`;
}

function validCuts(input: PartitionInput): number {
  return input.cutBytes.slice(0, -1).filter((bytes) => bytes !== undefined).length;
}

function classesOf(input: PartitionInput): string[] {
  return Object.keys(input.layerLatencyUs);
}

function inputFaults({ layerLatencyUs, cutBytes }: PartitionInput): Fault[] {
  const faults: Fault[] = [];
  const layers = cutBytes.length;
  if (layers === 0) faults.push(fault('there are no layers'));
  if (Object.keys(layerLatencyUs).length === 0) faults.push(fault('no device class has layer latencies'));
  for (const [device, latencies] of Object.entries(layerLatencyUs)) {
    if (latencies.length !== layers)
      faults.push(fault(`${latencies.length} latencies for ${layers} layers`, device));
    const at = latencies.findIndex((us) => !(Number.isFinite(us) && us >= 0));
    if (at >= 0) faults.push(fault(`the latency of layer ${at} is ${latencies[at]} µs`, device));
  }
  const at = cutBytes.findIndex((bytes) => bytes !== undefined && !(Number.isFinite(bytes) && bytes >= 0));
  if (at >= 0) faults.push(fault(`${cutBytes[at]} bytes cross after layer ${at}`));
  return faults;
}

function optionFaults(input: PartitionInput, { blocks, device }: PartitionOptions): Fault[] {
  const faults: Fault[] = [];
  if (blocks !== undefined && !(Number.isInteger(blocks) && blocks >= 1))
    faults.push(fault(`${blocks} blocks are wanted; a whole number from 1 on is valid`));
  if (device !== undefined && !Object.hasOwn(input.layerLatencyUs, device)) {
    const known = classesOf(input).join(', ');
    faults.push(fault(`no layer latencies for class ${shown(device)}; there are ${known}`));
  }
  return faults;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
