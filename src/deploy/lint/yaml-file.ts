import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, Pair, Scalar, YAMLParseError } from 'yaml';
import { yamlErrorText, yamlRefusal } from '../../artifacts/index.js';

/** A short text with anchors can stand for more values than memory holds. */
const MOST_ALIASES = 100;

/** Place is where something is in a file: the keys and indices that lead there. */
export type Place = readonly (string | number)[];

/** YamlFile is a text of YAML, whose values are looked up with the lines that they stand on. */
export class YamlFile {
  /** The faults of the text as YAML, with lines. */
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  readonly values: readonly unknown[];
  private readonly lines: LineCounter;
  private readonly documents: readonly Document[];

  /** @param text one document, or several */
  constructor(text: string) {
    const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    this.lines = new yaml.LineCounter();
    // The library would compare each key with all others of its map.
    const options = { lineCounter: this.lines, prettyErrors: false, uniqueKeys: false };
    const parsed = yaml.parseAllDocuments(text, options);
    this.documents = 'empty' in parsed ? [] : parsed;
    const lineAt = (from: number) => this.lines.linePos(Math.max(0, from)).line;
    const syntax = this.documents.flatMap((document) => [
      ...document.errors.map((error: YAMLParseError) => ({
        line: lineAt(error.pos[0]),
        message: yamlErrorText(error),
      })),
      ...keysGivenTwice(document, yaml).map(({ key, from }) => ({
        line: lineAt(from),
        message: `the key ${key} is given twice`,
      })),
    ]);
    const { values, refused } = syntax.length > 0 ? { values: [] } : valuesOf(this.documents);
    this.errors = refused === undefined ? syntax : [{ line: 1, message: refused }];
    this.values = values;
  }

  /** lineOf gives the line of a place in a document, or of the closest place around it that the text has. */
  lineOf(place: Place, document = 0): number {
    for (let length = place.length; length >= 0; length--) {
      const from = this.offsetOf(place.slice(0, length), document);
      if (from !== undefined) return this.lines.linePos(from).line;
    }
    return 1;
  }

  /** A field begins at its key, and an entry of a list at its value. */
  private offsetOf(place: Place, document: number): number | undefined {
    const found = this.documents[document];
    const holder = found?.getIn(place.slice(0, -1), true) as
      | { readonly items?: readonly unknown[] }
      | undefined;
    const key = place.at(-1);
    const pair = holder?.items?.find((one) => (one as Pair<Scalar>).key?.value === key) as
      | Pair<Scalar>
      | undefined;
    const node = pair?.key ?? (found?.getIn(place, true) as Node | undefined);
    return node?.range?.[0];
  }
}

/** keysGivenTwice finds the keys of maps that are there a second time, and where. */
function keysGivenTwice(
  document: Document,
  yaml: typeof import('yaml'),
): { readonly key: string; readonly from: number }[] {
  const found: { key: string; from: number }[] = [];
  yaml.visit(document, {
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!yaml.isScalar(key)) continue;
        if (keys.has(key.value)) found.push({ key: String(key.value), from: key.range?.[0] ?? 0 });
        keys.add(key.value);
      }
    },
  });
  return found;
}

/** valuesOf makes the values of documents, unless their aliases stand for too many or they are too deep. */
function valuesOf(documents: readonly Document[]): { readonly values: unknown[]; readonly refused?: string } {
  try {
    return { values: documents.map((document) => document.toJS({ maxAliasCount: MOST_ALIASES }) as unknown) };
  } catch (error) {
    const refused = yamlRefusal(error);
    if (refused === undefined) throw error;
    return { values: [], refused };
  }
}

/** pointerOf writes a place as a JSON pointer. */
export function pointerOf(place: Place): string {
  return place.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
