import type { Tensors } from '../../src/execution/index.js';
import { driveLoad, type LoadReport } from '../../src/loadgen/index.js';
import { streamOf } from '../../src/random/index.js';
import { arrivalsAt, DrawnArrivals, phasedLoad } from '../../src/workload/index.js';

/** Under kills a request may wait until an executor is back. */
const TIMEOUT_S = 60;

/** KnownAnswers are requests of a workflow, with what the models by hand give for each. */
export interface KnownAnswers {
  readonly workflow: string;
  readonly inputs: readonly Tensors[];
  readonly byHand: readonly Tensors[];
}

/** SentLoad is when requests are sent, and at which rate in the mean. */
export interface SentLoad {
  readonly timesNs: readonly number[];
  readonly rps: number;
  readonly durationS: number;
}

/** LoadAnswers is what became of a load: how many answers have every byte of those by hand, and how many have not. */
export interface LoadAnswers {
  readonly report: LoadReport;
  readonly equal: number;
  readonly wrong: number;
}

/** randomLoad draws Poisson arrivals. */
export function randomLoad(rps: number, durationS: number, seed: number): SentLoad {
  const drawn = new DrawnArrivals({
    process: 'poisson',
    load: phasedLoad([{ rps, durationS }]),
    stream: streamOf(seed, 'arrivals'),
  });
  const timesNs: number[] = [];
  while (drawn.next()) timesNs.push(drawn.atNs);
  return { timesNs, rps, durationS };
}

/** answersOf sends requests in turn at the times of a load, and compares every answer with that by hand. */
export async function answersOf(
  url: string,
  { timesNs, rps, durationS }: SentLoad,
  { workflow, inputs, byHand }: KnownAnswers,
): Promise<LoadAnswers> {
  let [equal, wrong] = [0, 0];
  const report = await driveLoad(url, {
    model: workflow,
    rps,
    durationS,
    timeoutS: TIMEOUT_S,
    inputs,
    schedule: { arrivals: arrivalsAt(timesNs), models: [workflow] },
    check: ({ index, outputs }) => {
      const isEqual = haveSameBytes(outputs, byHand[index % byHand.length]!);
      if (isEqual) equal += 1;
      else wrong += 1;
      return isEqual;
    },
  });
  return { report, equal, wrong };
}

/** haveSameBytes says whether two answers have the same outputs, with the same shapes and bytes. */
function haveSameBytes(given: Tensors, wanted: Tensors): boolean {
  const [names, others] = [given, wanted].map((tensors) => Object.keys(tensors).sort());
  if (names!.join('\n') !== others!.join('\n')) return false;
  return names!.every((name) => {
    const [one, other] = [given[name]!, wanted[name]!];
    return one.dims.join() === other.dims.join() && bytesIn(one).equals(bytesIn(other));
  });
}

function bytesIn({ data }: Tensors[string]): Buffer {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * endingsText says how many requests ended in which way, with the reasons of those that got no answer.
 * @param drops how many the server dropped for which reason
 */
export function endingsText(
  { sent, answered, dropped, failed, cancelled, failures }: LoadReport,
  drops: Readonly<Record<string, number>>,
): string {
  const reasons = [...Object.entries(drops), ...Object.entries(failures)].filter(([, count]) => count > 0);
  const told = reasons.map(([why, count]) => `${count} × ${why}`);
  const words = [`${answered} answered`, `${dropped} dropped`, `${failed} failed`, `${cancelled} cancelled`];
  return `${sent} sent: ${words.join(', ')}${told.length === 0 ? '' : ` (${told.join('; ')})`}`;
}
