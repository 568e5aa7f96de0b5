/** HandedIn is what programs get in place of the clock and the randomness of the machine. */
export interface HandedIn {
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
  /** From [0, 1). */
  readonly random: () => number;
  /** bound gives a function that acts as the code does that is executed now, whenever it is called. */
  readonly bound: (act: Act) => Act;
}

type Act = (...given: unknown[]) => void;

/** The names that no replay would give again, or that come back after another run was resumed. */
const WITHHELD = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'fetch',
  'WebSocket',
  'EventSource',
  'BroadcastChannel',
  'MessageChannel',
];
const WITHHELD_OF_CRYPTO = ['getRandomValues', 'randomUUID'];
const WITHHELD_OF_PROCESS = ['hrtime', 'kill', 'abort'];

/**
 * replaceGlobals puts what is handed in in place of the clock and the randomness that JavaScript has, and
 * withholds what a replay could not repeat, for all code that the thread loads from then on. Bindings that a
 * module imports from Node by itself stay as they are.
 */
export function replaceGlobals(handedIn: HandedIn): void {
  const { nowMs, random, bound } = handedIn;
  const startMs = nowMs();
  globalThis.Date = dateOf(nowMs);
  Math.random = random;
  put(performance, 'now', () => nowMs() - startMs);
  const { queueMicrotask, process } = globalThis;
  const tick = process.nextTick.bind(process);
  put(globalThis, 'queueMicrotask', (act: Act) => queueMicrotask(bound(act)));
  put(process, 'nextTick', (act: Act, ...given: unknown[]) => tick(bound(act), ...given));
  withhold(globalThis, WITHHELD, '');
  withhold(Object.getPrototypeOf(globalThis.crypto), WITHHELD_OF_CRYPTO, 'crypto.');
  withhold(process, WITHHELD_OF_PROCESS, 'process.');
}

function dateOf(nowMs: () => number): DateConstructor {
  const Machines = Date;
  const Handed = function (this: unknown, ...parts: []): Date | string {
    if (new.target === undefined) return new Machines(nowMs()).toString();
    return Reflect.construct(Machines, parts.length === 0 ? [nowMs()] : parts, new.target) as Date;
  };
  Handed.prototype = Machines.prototype;
  put(Handed.prototype, 'constructor', Handed);
  return Object.assign(Handed, { now: nowMs, parse: Machines.parse, UTC: Machines.UTC }) as DateConstructor;
}

function withhold(from: object, names: readonly string[], before: string): void {
  for (const name of names) {
    const withheld = (): never => {
      const error = new Error(
        `${before}${name} is withheld from programs: they depend on what they read alone, so that they can be replayed (docs/programs.md)`,
      );
      Error.captureStackTrace(error, withheld);
      throw error;
    };
    put(from, name, withheld);
  }
}

function put(into: object, name: string, value: unknown): void {
  Object.defineProperty(into, name, { value, configurable: true, writable: true });
}
