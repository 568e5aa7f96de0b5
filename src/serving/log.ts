import type { ServingCore } from './core.js';
import { Decision, Decisions } from './decisions.js';
import type { SubmittedCall, WorkflowCore } from './workflow/index.js';

/**
 * LogEntry is one line of a decision log: an event that the core heard, by the name and arguments of the core's
 * method, or a decision that it made after it: `said`, its kind, its numbers a to d, and the tasks of its batch.
 */
export type LogEntry = readonly [word: string, ...numbers: number[]];

const HEARD = [
  'arrived',
  'turnedAway',
  'cancelled',
  'started',
  'executed',
  'failed',
  'transferred',
  'due',
  'deviceUp',
  'deviceDown',
  'drain',
  'decide',
] as const satisfies (keyof ServingCore)[];
/** The events that only a core of workflows hears. */
const HEARD_OF_WORKFLOWS = [
  'sized',
  'submitted',
  'wanted',
  'finished',
  'loaded',
  'loadFailed',
  'fetched',
  'outputLost',
  'unneeded',
] as const satisfies (keyof WorkflowCore)[];
const WORDS = [...HEARD, ...HEARD_OF_WORKFLOWS];
type Heard = (typeof WORDS)[number];
/**
 * A method of a core takes numbers, `executed` a list of verdicts or bytes besides, and `submitted` a call: a log holds
 * these one by one.
 */
type Told = number | ArrayLike<number> | SubmittedCall;
type Method = (...told: Told[]) => unknown;
/**
 * The number of arguments of `executed` before the verdicts, of `arrived` before the weight, and of `submitted` before
 * the call.
 */
const BEFORE_VERDICTS = 4;
const BEFORE_WEIGHT = 4;
const BEFORE_CALL = 2;

/**
 * recorded wraps a core so that every event it hears and every decision it makes also goes to `sink`, in order.
 * `wouldDrop`, which changes nothing, is passed on but not recorded. The entry of an `arrived` holds the weight of the
 * request only where that is not 1. The entry of an `execute` or a `transfer` lists
 * the tasks of its batch.
 * @param decisions the buffer the core was made with
 */
export function recorded<Core extends ServingCore>(
  core: Core,
  decisions: Decisions,
  sink: (entry: LogEntry) => void,
): Core {
  const methods = core as unknown as Partial<Record<Heard, Method>>;
  const recording = Object.create(core) as Record<Heard, Method>;
  for (const word of WORDS) {
    const method = methods[word];
    if (method === undefined) continue;
    recording[word] = (...told) => {
      const saysNothing = word === 'arrived' && (told[BEFORE_WEIGHT] ?? 1) === 1;
      const kept = saysNothing ? told.slice(0, BEFORE_WEIGHT) : told;
      sink([word, ...kept.flatMap(numbersOf)]);
      const before = decisions.count;
      const answer = method.apply(core, told);
      for (let i = before; i < decisions.count; i++) sink(said(core, decisions, i));
      return answer;
    };
  }
  return recording as unknown as Core;
}

function numbersOf(told: Told): number | number[] {
  if (typeof told === 'number') return told;
  if ('component' in told) return [told.component, told.rows, ...told.inputs];
  return Array.from(told);
}

function said(core: ServingCore, decisions: Decisions, i: number): LogEntry {
  const kind = decisions.kind(i);
  const numbers = [kind, decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
  if (kind !== Decision.execute && kind !== Decision.transfer) return ['said', ...numbers];
  const batch = decisions.a(i);
  const tasks = Array.from({ length: core.batchSize(batch) }, (_, k) => core.batchTask(batch, k));
  return ['said', ...numbers, ...tasks];
}

/**
 * Replay is the result of a replay: that all was the same, or the first entry `at` which the log and the core
 * differ.
 */
export type Replay =
  | { same: true; entries: number }
  | { same: false; at: number; logged: LogEntry | undefined; said: LogEntry | undefined };

/**
 * replay tells a fresh core the events of a log, and compares its decisions with those in the log.
 * @param makeCore makes a core over the buffer it is given; with the topology and policy of the logged run,
 *   the result is `same`
 * @throws Error where the log holds an event that cores do not have
 */
export function replay(log: Iterable<LogEntry>, makeCore: (decisions: Decisions) => ServingCore): Replay {
  const decisions = new Decisions();
  const answers: LogEntry[] = [];
  const core = recorded(makeCore(decisions), decisions, (entry) => {
    if (entry[0] === 'said') answers.push(entry);
  });
  let at = 0;
  let next = 0;
  for (const entry of log) {
    if (entry[0] === 'said') {
      const answer = answers[next++];
      if (String(answer) !== String(entry)) return { same: false, at, logged: entry, said: answer };
    } else {
      if (next < answers.length) return { same: false, at, logged: entry, said: answers[next] };
      answers.length = 0;
      next = 0;
      hear(core, entry);
      if (entry[0] === 'decide') decisions.clear();
    }
    at += 1;
  }
  if (next < answers.length) return { same: false, at, logged: undefined, said: answers[next] };
  return { same: true, entries: at };
}

function hear(core: ServingCore, [word, ...numbers]: LogEntry): void {
  const method = (core as unknown as Record<string, Method>)[word];
  if (!(WORDS as readonly string[]).includes(word) || method === undefined)
    throw new Error(`Cannot replay the log: ${word} is no event of a core`);
  method.call(core, ...argumentsOf(word as Heard, numbers));
}

/** argumentsOf gives the arguments that a method got, read from the numbers of its entry. */
function argumentsOf(word: Heard, numbers: readonly number[]): Told[] {
  if (word === 'submitted') {
    const [component = 0, rows = 0, ...inputs] = numbers.slice(BEFORE_CALL);
    return [...numbers.slice(0, BEFORE_CALL), { component, rows, inputs }];
  }
  if (word !== 'executed' || numbers.length <= BEFORE_VERDICTS) return [...numbers];
  return [...numbers.slice(0, BEFORE_VERDICTS), numbers.slice(BEFORE_VERDICTS)];
}
