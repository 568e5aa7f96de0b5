import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, Scalar, YAMLParseError } from 'yaml';
import { pushAll, type Steps } from '../collections/index.js';
import {
  type Fault,
  fault,
  HUGE,
  InputError,
  isHugeWhole,
  refuseLargeYaml,
  shown,
  TOO_DEEP,
} from '../formats/index.js';
import { bareFaults, type PointedFault } from './faults.js';
import { yamlWords } from './yaml-words.js';

/** A short YAML text with anchors can stand for more values than memory holds. */
const MOST_ALIASES = 100;

/** ParsedText is the value of a text, and what is wrong with it that leaves the rest as it is. */
export interface ParsedText {
  readonly value: unknown;
  readonly faults: readonly PointedFault[];
}

/**
 * parseYamlText parses a text of YAML.
 * @throws InputError with the faults of its syntax, where it has no value, or is larger than is read
 */
export function* parseYamlText(text: string, path: string): Steps<ParsedText> {
  const task = `read ${path}`;
  refuseLargeYaml(text, task);
  yield;
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    // The library compares each key with all others of its map; contentFaults does it in one pass. It also writes out
    // the line of every error, which takes seconds where thousands are on one long line.
    const lineCounter = new yaml.LineCounter();
    const document = yaml.parseDocument(text, {
      prettyErrors: false,
      uniqueKeys: false,
      lineCounter,
      merge: true,
    });
    yield;
    const syntax = differentFaults(document.errors.map((error) => yamlFault(error, lineCounter)));
    const found = contentFaults(document, lineCounter, yaml);
    pushAll(syntax, found.fatal);
    if (syntax.length > 0) throw new InputError(task, [...syntax, ...bareFaults(found.faults)]);
    yield;
    return { value: document.toJS({ maxAliasCount: MOST_ALIASES }), faults: found.faults };
  } catch (error) {
    const why = yamlRefusal(error);
    if (why === undefined) throw error;
    throw new InputError(task, [fault(why)]);
  }
}

/**
 * differentFaults leaves out faults that say the same as one before: the library has several errors at one place. Of what
 * is too deep it says that alone.
 */
function differentFaults(faults: readonly Fault[]): Fault[] {
  // Where its stack ended, the library finds faults that are none.
  const tooDeep = faults.find(({ message }) => message === TOO_DEEP);
  if (tooDeep !== undefined) return [tooDeep];
  return [...new Map(faults.map((one) => [`${one.path} ${one.message}`, one])).values()];
}

function yamlFault({ message, code, pos: [from] }: YAMLParseError, lines: LineCounter): Fault {
  if (isTooDeep(message)) return fault(TOO_DEEP);
  const words = yamlWords(code);
  if (from < 0) return fault(words);
  const { line, col } = lines.linePos(from);
  return fault(`${words} at line ${line}, column ${col}`);
}

/** isTooDeep returns whether the library found no more room on its stack. */
function isTooDeep(message: string): boolean {
  return message.startsWith('Maximum call stack');
}

/** yamlErrorText is the library's own sentence on an error of syntax, or what is too deep for it. */
export function yamlErrorText({ message }: Pick<YAMLParseError, 'message'>): string {
  return isTooDeep(message) ? TOO_DEEP : message;
}

/**
 * yamlRefusal says why the library could not make a value of a text: an alias that cannot be followed, or too deep for its
 * stack.
 */
export function yamlRefusal(error: unknown): string | undefined {
  if (error instanceof RangeError) return TOO_DEEP;
  const { message } = error as Error;
  if (message.startsWith('Merge sources')) return 'a key << merges what is no map, nor an alias of one';
  if (!(error instanceof ReferenceError)) return undefined;
  const [, unknown] = /^Unresolved alias.*: (.*)$/s.exec(message) ?? [];
  return unknown === undefined
    ? 'its aliases stand for too many values, or for one that holds itself; write out what they repeat'
    : `no anchor ${shown(`&${unknown}`)} stands before its alias; write the anchor, or the value itself`;
}

/** Marked is a node of YAML with its marks: `&anchor` and `!tag`. */
interface Marked {
  readonly anchor?: string;
  readonly tag?: string;
}

/** What a tag may say that a value is. Others, such as binary data, are of no file. */
const TAGS = /^(tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)|!)$/;

/** ContentFaults are those of a text whose syntax is right: `fatal` ones leave it without a value. */
interface ContentFaults {
  readonly fatal: readonly Fault[];
  readonly faults: readonly PointedFault[];
}

/**
 * contentFaults finds keys that are given twice in one map and whole numbers that a double does not hold, and refuses many
 * aliases: the library looks through the whole text for each.
 */
function contentFaults(
  document: Document.Parsed,
  lines: LineCounter,
  yaml: typeof import('yaml'),
): ContentFaults {
  const fatal: Fault[] = [];
  const faults: PointedFault[] = [];
  let aliases = 0;
  const at = (node: unknown): string => {
    const { line, col } = lines.linePos((node as Node).range?.[0] ?? 0);
    return `line ${line}, column ${col}`;
  };
  const anchors = new Set<string>();
  const marked = (node: Marked): void => {
    if (node.anchor !== undefined) anchors.add(node.anchor);
    if (node.tag !== undefined && !TAGS.test(node.tag))
      fatal.push(fault(`has the tag ${shown(node.tag)}; leave it out`, at(node)));
  };
  yaml.visit(document, {
    Alias(_, alias) {
      aliases += 1;
      if (!anchors.has(alias.source))
        fatal.push(fault(`no anchor &${alias.source} stands before its alias`, at(alias)));
    },
    Scalar(key, scalar, path) {
      marked(scalar);
      if (typeof scalar.value !== 'number' || !isHugeWhole(scalar.source ?? '')) return;
      const said = `${scalar.source}; ${HUGE}`;
      if (key === 'key') faults.push(fault(`the key is ${said}`, at(scalar)));
      else faults.push(fault(`is ${said}`, pointerOf([...path, scalar], yaml)));
    },
    Seq: (_, list) => marked(list),
    Map(_, map) {
      marked(map);
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (yaml.isCollection(key))
          fatal.push(fault('a list or a map is given as a key; keys are texts', at(key)));
        const name = yaml.isScalar(key) ? key.value : key;
        if (seen.has(name)) faults.push(fault(`the key ${shown(name)} is given twice in one map`, at(key)));
        seen.add(name);
      }
    },
  });
  if (aliases > MOST_ALIASES)
    fatal.push(fault(`it has ${aliases} aliases; give at most ${MOST_ALIASES}, or write out the values`));
  return { fatal, faults };
}

/** pointerOf gives the JSON pointer of the last of some nodes, of which each holds the next. */
function pointerOf(nodes: readonly unknown[], yaml: typeof import('yaml')): string {
  return nodes
    .map((node, i) => {
      if (yaml.isPair(node)) {
        const key = String((node.key as Scalar | null)?.value);
        return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      }
      return yaml.isSeq(node) ? `/${node.items.indexOf(nodes[i + 1])}` : '';
    })
    .join('');
}
