import { exportedNames } from './names.js';
import type { Source } from './read.js';
import { spreadsOf } from './spreads.js';
import { writersOf } from './writers.js';

/** Offenders gives a figure to each offender of a rule, by the name that the list gives it. */
export type Offenders = Readonly<Record<string, number>>;

/** Rule is a limit, with the message for a figure beyond it. */
export interface Rule {
  readonly offenders: (sources: readonly Source[]) => Offenders;
  readonly told: (figure: number) => string;
}

const MOST_LINES = 60;
const MOST_PARAMETERS = 3;
/** The formatter leaves comments as they are. A command in one may be longer than a sentence. */
const MOST_LETTERS = 132;
const COMMENT = /^\s*(\/\*\*|\*|\/\/) (?! {4})/;

/** RULES are the limits that the list keeps, by their names in it. */
export const RULES = {
  lines: {
    offenders: (sources) =>
      largest(
        sources.flatMap(({ path, functions }) =>
          functions
            .filter(({ lines }) => lines > MOST_LINES)
            .map(({ name, lines }): [string, number] => [`${path} ${name}`, lines]),
        ),
      ),
    told: (figure) => `has ${figure} lines; a function has at most ${MOST_LINES}`,
  },
  parameters: {
    offenders: (sources) =>
      largest(
        sources.flatMap(({ path, functions }) =>
          functions
            .filter(({ exported, parameters }) => exported && parameters > MOST_PARAMETERS)
            .map(({ name, parameters }): [string, number] => [`${path} ${name}`, parameters]),
        ),
      ),
    told: (figure) =>
      `takes ${figure} positional arguments; an exported function takes at most ${MOST_PARAMETERS}, then an options object`,
  },
  names: {
    offenders: (sources) => {
      const rooms = new Map<string, Set<string>>();
      for (const { path, tree } of sources.filter(({ path }) => path.startsWith('src/'))) {
        const room = path.split('/')[1] as string;
        for (const name of exportedNames(tree)) rooms.set(name, (rooms.get(name) ?? new Set()).add(room));
      }
      return largest([...rooms].flatMap(([name, of]) => (of.size > 1 ? [[name, of.size]] : [])));
    },
    told: (figure) => `is exported by ${figure} folders of src, for different things; give each its own name`,
  },
  spreads: {
    offenders: (sources) =>
      largest(
        sources
          .filter(({ path }) => path.startsWith('src/'))
          .map(({ path, tree }): [string, number] => [path, spreadsOf(tree).length])
          .filter(([, count]) => count > 0),
      ),
    told: (figure) =>
      `spreads ${figure} lists as arguments, and a long one exceeds the stack; take largestOf, smallestOf or pushAll of src/collections`,
  },
  writers: {
    offenders: (sources) =>
      largest(
        sources
          .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/artifacts/'))
          .map(({ path, tree }): [string, number] => [path, writersOf(tree).length])
          .filter(([, count]) => count > 0),
      ),
    told: (figure) =>
      `takes ${figure} of the file system's functions that write; a file goes through writeWhole, StreamedFile or makeFolderWhole of src/artifacts, which know what was read`,
  },
  comments: {
    offenders: (sources) =>
      largest(
        sources
          .map(({ path, tree }): [string, number] => [path, longComments(tree.text)])
          .filter(([, count]) => count > 0),
      ),
    told: (figure) => `has ${figure} comment lines of more than ${MOST_LETTERS} letters; break them at 120`,
  },
} satisfies Record<string, Rule>;

function longComments(text: string): number {
  return text.split('\n').filter((line) => line.length > MOST_LETTERS && COMMENT.test(line)).length;
}

/** largest sorts offenders by name. Callbacks share a name with others beside them; the largest stands for all. */
function largest(found: readonly (readonly [string, number])[]): Offenders {
  const figures = new Map<string, number>();
  for (const [name, figure] of found) figures.set(name, Math.max(figure, figures.get(name) ?? 0));
  return Object.fromEntries([...figures].sort(([a], [b]) => (a < b ? -1 : 1)));
}
