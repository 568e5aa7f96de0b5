import { createRequire } from 'node:module';
import type { Document, LineCounter, Scalar } from 'yaml';
import type { Fault } from './errors.js';
import type { PointedFault } from './faults.js';
import { refuseLargeYaml } from './text-bounds.js';

/** TextPlaces finds the places of values in a text of YAML, or of JSON, which is YAML too. */
export class TextPlaces {
  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
  ) {}

  /** place gives the line and the column of what a JSON pointer names, or of the nearest thing around it that is there. */
  place(pointer: string): { line: number; column: number } | undefined {
    const steps = pointerSteps(pointer);
    for (let length = steps.length; length >= 0; length--) {
      const node = this.document.getIn(steps.slice(0, length), true) as { range?: [number] } | undefined;
      const from = this.keyAt(steps.slice(0, length)) ?? node?.range?.[0];
      if (from !== undefined) return this.at(from);
    }
    return undefined;
  }

  /** written gives the number that a JSON pointer names as the text has it, where a double is another number. */
  written(pointer: string): { readonly text: string; readonly read: string } | undefined {
    const node = this.document.getIn(pointerSteps(pointer), true) as Scalar | undefined;
    const { source, value } = node ?? {};
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^[+-]?\d+$/.test(source ?? ''))
      return undefined;
    return { text: source as string, read: JSON.stringify(value) };
  }

  private at(offset: number): { line: number; column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line, column: col };
  }

  /** keyAt gives where the key of an entry of a map begins. */
  private keyAt(steps: readonly string[]): number | undefined {
    const last = steps.at(-1);
    const map = this.document.getIn(steps.slice(0, -1), true) as { items?: readonly unknown[] } | undefined;
    if (last === undefined || map?.items === undefined) return undefined;
    for (const item of map.items) {
      const key = (item as { key?: { value?: unknown; range?: [number] } | null }).key;
      if (key?.value !== undefined && String(key.value) === last) return key.range?.[0];
    }
    return undefined;
  }
}

/** textPlaces parses a text of YAML or JSON for its places; undefined where that cannot be done, or would take long. */
export function textPlaces(text: string): TextPlaces | undefined {
  try {
    refuseLargeYaml(text, 'find places');
    const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    const lines = new yaml.LineCounter();
    const document = yaml.parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
    return document.errors.length > 0 ? undefined : new TextPlaces(document, lines);
  } catch {
    return undefined;
  }
}

/**
 * placedFaults adds to faults of a text's values the line and the column where each is, and numbers as they are written
 * where a double is another.
 * @param pointed whether lines and columns are told: of YAML, which people write
 */
export function placedFaults(faults: readonly PointedFault[], text: string, pointed: boolean): Fault[] {
  const places = textPlaces(text);
  return faults.map(({ pointer, ...fault }) => {
    if (places === undefined || fault.more !== undefined || !(pointer ?? fault.path).startsWith('/'))
      return fault;
    const written = places.written(fault.path);
    const message =
      written === undefined
        ? fault.message
        : fault.message.replaceAll(`is ${written.read}`, `is ${written.text}`);
    const place = pointed ? places.place(pointer ?? fault.path) : undefined;
    return {
      ...fault,
      message: place === undefined ? message : `${message} (line ${place.line}, column ${place.column})`,
    };
  });
}

/** pointerSteps splits a JSON pointer. */
export function pointerSteps(pointer: string): string[] {
  if (pointer === '' || pointer === '/') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
