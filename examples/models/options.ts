import { fault, InputError } from '../../src/formats/index.js';
import { BERT_SIZES, type BertOptions, type BertSize, bert, MOST_POSITIONS } from './bert.js';
import { bertExported, type ExportedTextOptions, gptExported } from './exported-text.js';
import { type ExportedVitOptions, VIT_PATCH, vitExported } from './exported-vit.js';
import { mobilenetv2 } from './mobilenetv2.js';
import { type ImageOptions, resnet18 } from './resnet18.js';
import { UNET_DEPTH, unet } from './unet.js';

export const MODEL_NAMES = [
  'resnet18',
  'mobilenetv2',
  'bert',
  'unet',
  'bert-exported',
  'gpt-exported',
  'vit-exported',
] as const;
export type ModelName = (typeof MODEL_NAMES)[number];

/** Given holds options as on a command line, by name without the dashes. */
export type Given = Readonly<Record<string, string | undefined>>;

const IMAGE_OPTIONS = ['image', 'width-multiplier', 'classes'];
const BERT_OPTIONS = ['size', 'layers', 'hidden', 'heads', 'vocab', 'seq'];
const TEXT_OPTIONS = ['layers', 'hidden', 'heads', 'vocab', 'positions'];
const VIT_OPTIONS = ['layers', 'hidden', 'heads', 'image', 'classes'];
/** With more parameters the file would exceed 2 GiB, which is too large for one ONNX file. */
const MOST_PARAMETERS = 500_000_000;
const SMALLEST_IMAGE = 32;

/** optionsOf lists the options that a model takes besides the seed. */
export function optionsOf(model: ModelName): readonly string[] {
  switch (model) {
    case 'bert':
      return BERT_OPTIONS;
    case 'bert-exported':
    case 'gpt-exported':
      return TEXT_OPTIONS;
    case 'vit-exported':
      return VIT_OPTIONS;
    default:
      return IMAGE_OPTIONS;
  }
}

/**
 * buildModel makes a model's file from options as text.
 * @throws InputError with every fault of the options
 */
export function buildModel(model: ModelName, given: Given): Uint8Array {
  const reader = new OptionReader(given);
  const build = readOptions(reader, model);
  if (reader.faults.length > 0) throw new InputError(`build ${model}`, reader.faults);
  return build();
}

function readOptions(reader: OptionReader, model: ModelName): () => Uint8Array {
  switch (model) {
    case 'bert':
      return readBert(reader);
    case 'bert-exported':
      return readText(reader, bertExported);
    case 'gpt-exported':
      return readText(reader, gptExported);
    case 'vit-exported':
      return readVit(reader);
    default:
      return readImage(reader, model);
  }
}

type ImageModel = Exclude<ModelName, 'bert' | `${string}-exported`>;

function readImage(reader: OptionReader, model: ImageModel): () => Uint8Array {
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
  checkTransformer(reader, { vocab: 0, ...BERT_SIZES[options.size ?? 'tiny'], ...options });
  return () => bert(options);
}

function readText(
  reader: OptionReader,
  build: (options: ExportedTextOptions) => Uint8Array,
): () => Uint8Array {
  const options: ExportedTextOptions = {
    ...readTransformer(reader),
    ...reader.integer('vocab', 2, 1_000_000),
    ...reader.integer('positions', 1, 8192),
  };
  checkTransformer(reader, { hidden: 64, heads: 2, layers: 2, vocab: 1000, ...options });
  return () => build(options);
}

function readVit(reader: OptionReader): () => Uint8Array {
  const options: ExportedVitOptions = {
    ...readTransformer(reader),
    ...reader.integer('image', SMALLEST_IMAGE, 2048),
    ...reader.integer('classes', 1, 100_000),
  };
  if ((options.image ?? VIT_PATCH) % VIT_PATCH !== 0)
    reader.faults.push(fault(`is ${options.image}; a multiple of ${VIT_PATCH} is needed`, '--image'));
  checkTransformer(reader, { hidden: 64, heads: 2, layers: 2, vocab: 0, ...options });
  return () => vitExported(options);
}

function readTransformer(reader: OptionReader) {
  return {
    ...reader.integer('seed', 0, 2 ** 31),
    ...reader.integer('layers', 1, 96),
    ...reader.integer('hidden', 8, 8192),
    ...reader.integer('heads', 1, 128),
  };
}

function checkTransformer(
  reader: OptionReader,
  { layers, hidden, heads, vocab }: { layers: number; hidden: number; heads: number; vocab: number },
): void {
  if (hidden % heads !== 0)
    reader.faults.push(fault(`is ${heads}, which does not divide ${hidden}`, '--heads'));
  const parameters = layers * 12 * hidden ** 2 + vocab * hidden;
  if (parameters > MOST_PARAMETERS) {
    const told = `about ${Math.round(parameters / 1e6)} M parameters do not fit one ONNX file of 2 GiB`;
    reader.faults.push(fault(told, '--layers, --hidden, --vocab'));
  }
}

/** OptionReader reads options and collects faults. It leaves out options that are not given. */
class OptionReader {
  readonly faults: { path: string; message: string }[] = [];

  constructor(private readonly given: Given) {}

  integer<Name extends string>(name: Name, low: number, high: number): { [key in Name]?: number } {
    return this.within(name, name, low, high, Number.isSafeInteger, 'a whole number');
  }

  number<Key extends string>(name: string, key: Key, low: number, high: number): { [key in Key]?: number } {
    return this.within(name, key, low, high, Number.isFinite, 'a number');
  }

  choice<Value extends string>(name: 'size', valid: readonly Value[]): { size?: Value } {
    const text = this.given[name];
    if (text === undefined) return {};
    const value = valid.find((one) => one === text);
    if (value !== undefined) return { size: value };
    this.faults.push(fault(`is "${text}"; valid values are ${valid.join(', ')}`, `--${name}`));
    return {};
  }

  private within<Key extends string>(
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
