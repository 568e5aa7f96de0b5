import { fault, InputError } from '../../src/artifacts/index.js';
import { BERT_SIZES, type BertOptions, type BertSize, bert, MOST_POSITIONS } from './bert.js';
import { mobilenetv2 } from './mobilenetv2.js';
import { type ImageOptions, resnet18 } from './resnet18.js';
import { UNET_DEPTH, unet } from './unet.js';

export const MODEL_NAMES = ['resnet18', 'mobilenetv2', 'bert', 'unet'] as const;
export type ModelName = (typeof MODEL_NAMES)[number];

/** Given holds options as on a command line, by name without the dashes. */
export type Given = Readonly<Record<string, string | undefined>>;

const IMAGE_OPTIONS = ['image', 'width-multiplier', 'classes'];
const BERT_OPTIONS = ['size', 'layers', 'hidden', 'heads', 'vocab', 'seq'];
/** With more parameters the file would exceed 2 GiB, which is too large for one ONNX file. */
const MOST_PARAMETERS = 500_000_000;
const SMALLEST_IMAGE = 32;

/** optionsOf lists the options that a model takes besides the seed. */
export function optionsOf(model: ModelName): readonly string[] {
  return model === 'bert' ? BERT_OPTIONS : IMAGE_OPTIONS;
}

/**
 * buildModel makes a model's file from options as text.
 * @throws InputError with every fault of the options
 */
export function buildModel(model: ModelName, given: Given): Uint8Array {
  const reader = new OptionReader(given);
  const build = model === 'bert' ? readBert(reader) : readImage(reader, model);
  if (reader.faults.length > 0) throw new InputError(`build ${model}`, reader.faults);
  return build();
}

function readImage(reader: OptionReader, model: Exclude<ModelName, 'bert'>): () => Uint8Array {
  const options: ImageOptions = {
    ...reader.integer('seed', 0, 2 ** 31),
    ...reader.integer('image', SMALLEST_IMAGE, 2048),
    ...reader.number('width-multiplier', 'widthMultiplier', 0.05, 4),
    ...reader.integer('classes', 1, 100_000),
  };
  const multiple = 2 ** UNET_DEPTH;
  if (model === 'unet' && (options.image ?? multiple) % multiple !== 0) {
    reader.faults.push(fault(`is ${options.image}; a U-Net needs a multiple of ${multiple}`, '--image'));
  }
  const builders = { resnet18, mobilenetv2, unet };
  return () => builders[model](options);
}

function readBert(reader: OptionReader): () => Uint8Array {
  const options: BertOptions = {
    ...reader.integer('seed', 0, 2 ** 31),
    ...reader.choice('size', Object.keys(BERT_SIZES) as BertSize[]),
    ...reader.integer('layers', 1, 96),
    ...reader.integer('hidden', 8, 8192),
    ...reader.integer('heads', 1, 128),
    ...reader.integer('vocab', 2, 1_000_000),
    ...reader.integer('seq', 1, MOST_POSITIONS),
  };
  const { layers, hidden, heads, vocab = 0 } = { ...BERT_SIZES[options.size ?? 'tiny'], ...options };
  if (hidden % heads !== 0)
    reader.faults.push(fault(`is ${heads}, which does not divide ${hidden}`, '--heads'));
  const parameters = layers * 12 * hidden ** 2 + vocab * hidden;
  if (parameters > MOST_PARAMETERS) {
    const told = `about ${Math.round(parameters / 1e6)} M parameters do not fit one ONNX file of 2 GiB`;
    reader.faults.push(fault(told, '--layers, --hidden, --vocab'));
  }
  return () => bert(options);
}

/** OptionReader reads options and collects faults. It leaves out options that are not given. */
class OptionReader {
  readonly faults: { path: string; message: string }[] = [];

  constructor(private readonly given: Given) {}

  integer<Name extends string>(name: Name, low: number, high: number): { [key in Name]?: number } {
    return this.#within(name, name, low, high, Number.isSafeInteger, 'a whole number');
  }

  number<Key extends string>(name: string, key: Key, low: number, high: number): { [key in Key]?: number } {
    return this.#within(name, key, low, high, Number.isFinite, 'a number');
  }

  choice<Value extends string>(name: 'size', valid: readonly Value[]): { size?: Value } {
    const text = this.given[name];
    if (text === undefined) return {};
    const value = valid.find((one) => one === text);
    if (value !== undefined) return { size: value };
    this.faults.push(fault(`is "${text}"; valid values are ${valid.join(', ')}`, `--${name}`));
    return {};
  }

  #within<Key extends string>(
    name: string,
    key: Key,
    low: number,
    high: number,
    fits: (value: number) => boolean,
    what: string,
  ): { [key in Key]?: number } {
    const text = this.given[name];
    if (text === undefined) return {};
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (fits(value) && value >= low && value <= high) return { [key]: value } as { [key in Key]?: number };
    this.faults.push(fault(`is "${text}"; must be ${what} from ${low} to ${high}`, `--${name}`));
    return {};
  }
}
