import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { probit } from 'simple-statistics';
import type { FamilyModel } from '../../src/gearplan/index.js';
import { streamOf } from '../../src/random/index.js';
import { type CertaintyQuality, certaintyQuality, recordsOf } from '../../src/records/index.js';

const FOLDER = fileURLToPath(new URL('../../../../shared/data/cascadeserve/', import.meta.url));

/** FAMILY_FILES are the published latencies of the two families, in `../shared/data/cascadeserve`. */
export const FAMILY_FILES = ['bert-v100.json', 'llama-v100.json'].map((name) => `${FOLDER}${name}`);

const RECORDS_FOLDER = fileURLToPath(new URL('../../../../shared/cascades/', import.meta.url));

/** hasFamilies tells whether the published latencies are beside the checkout. */
export function hasFamilies(): boolean {
  return FAMILY_FILES.every((path) => existsSync(path));
}

/**
 * The accuracies that records are drawn for. Those of BERT's smallest and largest are of the published cascades, those in
 * between are assumptions; those of Llama are about what HellaSwag is reported with.
 */
const BERT_ACCURACY = { tiny: 0.813, mini: 0.826, small: 0.836, medium: 0.843, base: 0.848 };
const LLAMA_ACCURACY = { llama_03b: 0.52, llama_07b: 0.57, llama_13b: 0.6, llama_70b: 0.65 };

/** How much of what makes a sample hard is the same for all models; so much that cascades gain what the published do. */
const COMMON = 0.93;
const SAMPLES = 4000;

interface BertFile {
  readonly models: Readonly<
    Record<
      string,
      { readonly memoryBytes: number; readonly latencySByBatch: Readonly<Record<string, number>> }
    >
  >;
}

interface LlamaFile {
  readonly models: Readonly<
    Record<
      string,
      {
        readonly memoryBytesPerGpu: readonly number[];
        readonly latencyS: { readonly default: readonly number[] };
      }
    >
  >;
}

/** bertFamily has the published latencies of BERT on a V100 with records that are drawn. */
export function bertFamily(): FamilyModel[] {
  const { models } = JSON.parse(readFileSync(FAMILY_FILES[0] as string, 'utf8')) as BertFile;
  return drawn(BERT_ACCURACY, (name) => {
    const { memoryBytes, latencySByBatch } = models[name] as BertFile['models'][string];
    const batches = Object.keys(latencySByBatch).length;
    return {
      memoryBytes,
      latencyNs: Float64Array.from({ length: batches }, (_, b) =>
        Math.round(1e9 * (latencySByBatch[b + 1] as number)),
      ),
    };
  });
}

/**
 * llamaFamily has the published latencies of Llama, one sample at a time. A device is a pair of GPUs, which the largest
 * model spans; of a model that takes one GPU, a pair holds two, which serve two samples side by side, started together.
 */
export function llamaFamily(): FamilyModel[] {
  const { models } = JSON.parse(readFileSync(FAMILY_FILES[1] as string, 'utf8')) as LlamaFile;
  return drawn(LLAMA_ACCURACY, (name) => {
    const { memoryBytesPerGpu, latencyS } = models[name] as LlamaFile['models'][string];
    const isPair = (memoryBytesPerGpu[1] ?? 0) > 0;
    const memoryBytes = memoryBytesPerGpu.reduce((sum, bytes) => sum + bytes, 0);
    const ns = Math.round(1e9 * Math.max(...latencyS.default));
    return {
      memoryBytes: isPair ? memoryBytes : 2 * memoryBytes,
      latencyNs: Float64Array.from({ length: isPair ? 1 : 2 }, () => ns),
    };
  });
}

/**
 * drawn draws records: a sample is as easy as chance has it, mostly alike for all models, and a model is right about what
 * is easy enough for its accuracy; the further from that bound, the more certain it is.
 */
function drawn(
  accuracies: Readonly<Record<string, number>>,
  modelOf: (name: string) => Pick<FamilyModel, 'latencyNs' | 'memoryBytes'>,
): FamilyModel[] {
  const { normal } = streamOf(1, 'records');
  const common = Float64Array.from({ length: SAMPLES }, () => normal());
  return Object.entries(accuracies).map(([name, accuracy]) => {
    const ease = common.map(
      (z) => probit(accuracy) + Math.sqrt(COMMON) * z + Math.sqrt(1 - COMMON) * normal(),
    );
    return {
      name,
      ...modelOf(name),
      correct: Uint8Array.from(ease, (value) => (value > 0 ? 1 : 0)),
      certainty: ease.map((value) => Math.tanh(Math.abs(value))),
    };
  });
}

/** RecordedFamily is a family whose records are real, and how well each model's certainty tells right from wrong answers. */
export interface RecordedFamily {
  readonly name: string;
  readonly models: readonly FamilyModel[];
  readonly quality: readonly CertaintyQuality[];
}

/**
 * recordedFamilies reads the real records in `../shared/cascades`, of classifiers that nobody has latencies of. The least
 * accurate gets those of the smallest BERT, the next those of the next, which is an assumption.
 */
export async function recordedFamilies(): Promise<RecordedFamily[]> {
  if (!existsSync(RECORDS_FOLDER)) return [];
  const sizes = bertFamily();
  const files = readdirSync(RECORDS_FOLDER).filter((file) => file.endsWith('.csv'));
  const families = files.sort().map(async (file) => {
    const records = await recordsOf(readFileSync(`${RECORDS_FOLDER}${file}`, 'utf8'));
    if ('faults' in records) throw new Error(`${file}: ${records.faults[0]?.message}`);
    const ranked = certaintyQuality(records)
      .map((quality, m) => ({ quality, m }))
      .sort((a, b) => a.quality.accuracy - b.quality.accuracy);
    const models = ranked.map(({ m }, rank): FamilyModel => {
      const { latencyNs, memoryBytes } = sizes[rank] as FamilyModel;
      const [correct, certainty] = [records.correct[m] as Uint8Array, records.certainty[m] as Float64Array];
      return { name: records.models[m] as string, correct, certainty, latencyNs, memoryBytes };
    });
    return { name: file.replace(/\.csv$/, ''), models, quality: ranked.map(({ quality }) => quality) };
  });
  return Promise.all(families);
}
