import { itemAt } from '../collections/index.js';
import type { Fault } from '../formats/index.js';
import { readWhole } from './read-file.js';
import { decodedText } from './text.js';
import { type TextPlaces, textPlaces } from './text-places.js';

/** FaultPlaced is where a fault is: a file, and its line where that is known. */
export interface FaultPlaced {
  readonly file?: string;
  readonly line?: number;
}

/** A larger file is not read again only to name lines. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * placesOf finds the files and lines of faults, which tell them as JSON pointers, lines or files.
 * @param named the file that faults without one of their own are of
 */
export async function placesOf(faults: readonly Fault[], named: string | undefined): Promise<FaultPlaced[]> {
  const files = new Map<string, Promise<TextPlaces | undefined>>();
  const placesIn = (file: string): Promise<TextPlaces | undefined> => {
    const known = files.get(file) ?? readPlaces(file);
    files.set(file, known);
    return known;
  };
  return Promise.all(
    faults.map(async (fault) => {
      const { file = named, line, pointer } = toldPlace(fault);
      if (file === undefined) return {};
      if (line !== undefined) return { file, line };
      const found = pointer === undefined ? undefined : (await placesIn(file))?.place(pointer)?.line;
      return { file, ...(found === undefined ? {} : { line: found }) };
    }),
  );
}

const LINE = / (?:at |\()line (\d+), column \d+\)?$/;

/**
 * toldPlace reads the place that a fault tells: `file#/pointer`, `file /pointer`, `/pointer`, `file:7`, `file:7
 * /pointer`, `line 7`, or `… at line 7, column 3` with or without brackets.
 */
function toldPlace({ path, message }: Fault): { file?: string; line?: number; pointer?: string } {
  const lined = /^((?:(?! \/).)*\.\w+):(\d+)(?: \/.*)?$/.exec(path);
  if (lined !== null) return { file: itemAt(lined, 1), line: Number(lined[2]) };
  const pointed = /^(?:(.+?)[ #])?(\/.*)$/.exec(path);
  const file = pointed?.[1];
  const line = LINE.exec(message)?.[1] ?? /^line (\d+)/.exec(path)?.[1];
  const atLine = line === undefined ? {} : { line: Number(line) };
  if (pointed !== null && (file !== undefined || !/\.\w+$/.test(path)))
    return { ...(file === undefined ? {} : { file }), pointer: itemAt(pointed, 2), ...atLine };
  const numbered = /^(.+):(\d+)$/.exec(path);
  if (numbered !== null) return { file: itemAt(numbered, 1), line: Number(numbered[2]) };
  return atLine;
}

/** readPlaces parses a file of YAML or JSON, which is YAML too, for its places. It gives undefined where that cannot be done. */
async function readPlaces(file: string): Promise<TextPlaces | undefined> {
  try {
    return textPlaces(decodedText(await readWhole(file, MOST_BYTES), file));
  } catch {
    return undefined;
  }
}
