import { itemAt, pushAll } from '../collections/index.js';
import { type Fault, fault, InputError, notJson, tooLargeJson } from '../formats/index.js';

/** IMPORT_FORMATS lists the formats of other tools that can be imported. */
const IMPORT_FORMATS = ['csv', 'trtexec', 'ort'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** NAMES says what each format is, for people. */
const NAMES: Readonly<Record<ImportFormat, string>> = {
  csv: 'a table of latencies (csv)',
  trtexec: 'an export of trtexec (trtexec)',
  ort: 'a profile of ONNX Runtime (ort)',
};

/**
 * Every profile of ONNX Runtime whose session was made has these events, and no other trace of events has
 * them.
 */
const ORT_EVENT = /^(model_run|session_initialization|model_loading_\w+)$/;

/**
 * formatOfFiles finds the one format of all files by their content. It never guesses: a file that looks like no known
 * format, one that looks like two, and files of several formats are faults.
 * @throws InputError with a fault for each file that keeps the format from being known
 */
export function formatOfFiles(
  files: readonly { readonly path: string; readonly text: string }[],
): ImportFormat {
  const faults: Fault[] = [];
  const found = files.flatMap(({ path, text }) => {
    const looks = looksOf(text);
    if (typeof looks === 'string') faults.push(fault(looks, path));
    else if (looks.length === 1) return [{ path, format: itemAt(looks, 0) }];
    else faults.push(fault(`it looks like ${looks.map((format) => NAMES[format]).join(' and like ')}`, path));
    return [];
  });
  const kinds = new Set(found.map(({ format }) => format));
  if (kinds.size > 1)
    pushAll(
      faults,
      found.map(({ path, format }) => fault(`it is ${NAMES[format]}`, path)),
    );
  const [format] = kinds;
  if (faults.length === 0 && format !== undefined) return format;
  if (files.length === 0) faults.push(fault('no files are given'));
  const advice = `Import files of one format together, or name the format before the files: ${IMPORT_FORMATS.join(', ')}.`;
  throw new InputError('tell the format of the files', faults, advice);
}

/** looksOf gives the formats that a text can be, or the reason why it is none. */
function looksOf(text: string): ImportFormat[] | string {
  if (text.trim() === '') return 'the file is empty';
  if (isTable(text)) return ['csv'];
  const large = tooLargeJson(text);
  if (large !== undefined) return large;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `it is neither a table of numbers nor JSON: ${notJson(text)}`;
  }
  if (!Array.isArray(value)) return 'it is JSON, but not a list of events, runs or layers';
  const entries = value.filter((entry): entry is object => typeof entry === 'object' && entry !== null);
  const looks: ImportFormat[] = [];
  if (entries.some(isOfTrtexec)) looks.push('trtexec');
  if (entries.some(isOfOrt)) looks.push('ort');
  return looks.length > 0 ? looks : 'it is a list without the events of ONNX Runtime or the times of trtexec';
}

/** isTable looks only at the first line that is not empty; other faults of a table are left to its reader. */
function isTable(text: string): boolean {
  const line = text.split(/\r?\n/).find((one) => one.trim() !== '') ?? '';
  return line.split(',').every((cell) => cell.trim() !== '' && Number.isFinite(Number(cell)));
}

function isOfTrtexec(entry: object): boolean {
  return ['computeMs', 'averageMs', 'medianMs', 'count'].some((key) => key in entry);
}

function isOfOrt(entry: object): boolean {
  const { cat, name } = entry as { cat?: unknown; name?: unknown };
  return cat === 'Session' && typeof name === 'string' && ORT_EVENT.test(name);
}
