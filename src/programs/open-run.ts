import { type ProgramCall, type SourceName, sourceKey, sourceText, type ThreadEvent } from './messages.js';
import type { RecordedProgramCall } from './recorded-run.js';

/**
 * RecordedEvent is an event that a run got, and how many calls the run had made when it was over: undefined
 * until then.
 */
interface RecordedEvent {
  readonly event: ThreadEvent;
  calls?: number;
}

/**
 * OpenRun is a run that goes on: the events that it got, and what it did. A fresh thread gets the same events
 * again, and the run's actions are compared with those before.
 */
export class OpenRun {
  private readonly recorded: RecordedEvent[] = [];
  private readonly made: RecordedProgramCall[] = [];
  private readonly wanted = new Set<string>();
  private readonly given = new Set<string>();
  /** The tasks whose values the program had read when it last did something: a new list where another came to them. */
  private read: readonly number[] = [];
  /** In the present thread: the events that are over, and the calls that the run made. */
  private over = 0;
  private remade = 0;

  /**
   * @param id the number by which threads know it
   * @param run the number by which its driver knows it
   */
  constructor(
    readonly id: number,
    readonly run: number,
    readonly begunMs: number,
  ) {}

  /** calls are those that it has made, in their order. */
  get calls(): readonly RecordedProgramCall[] {
    return this.made;
  }

  /** record keeps an event that the run gets. */
  record(event: ThreadEvent): void {
    this.recorded.push({ event });
  }

  /** again gives all events of the run, for a fresh thread. */
  again(): readonly ThreadEvent[] {
    this.over = 0;
    this.remade = 0;
    return this.recorded.map(({ event }) => event);
  }

  /** wants says whether a source is wanted that was not wanted before. */
  wants(source: SourceName): boolean {
    const key = sourceKey(source);
    if (this.wanted.has(key)) return false;
    this.wanted.add(key);
    return true;
  }

  /** takes says whether the values of a source are wanted and have not come. */
  takes(source: SourceName): boolean {
    const key = sourceKey(source);
    if (!this.wanted.has(key) || this.given.has(key)) return false;
    this.given.add(key);
    return true;
  }

  /** resumes reports that the oldest event that is not over is over. */
  resumes(): void {
    const { event } = this.recorded[this.over++] as RecordedEvent;
    if (event.event !== 'give' || event.source.from === 'request') return;
    const { task } = event.source;
    if (!this.read.includes(task)) this.read = [...this.read, task];
  }

  /**
   * makes reports that the run makes a call.
   * @param nowMs the time of the call, from which the time that the program took is told
   * @returns whether it is new, made again as before, or how it differs from before
   */
  makes(call: ProgramCall, nowMs: number): 'new' | 'again' | { readonly differs: string } {
    const before = this.made[this.remade++];
    if (before !== undefined) {
      const [is, was] = [callText(call), callText(before)];
      return is === was
        ? 'again'
        : { differs: `made call ${call.task} as ${is} when it was replayed, and as ${was} before` };
    }
    const last = this.recorded[this.over - 1]?.event.nowMs ?? this.begunMs;
    this.made.push({ ...call, after: this.read, thinkMs: Math.max(0, nowMs - last) });
    return 'new';
  }

  /**
   * settles reports that all consequences of an event are known. It gives how that differs from what came of
   * the same event before.
   */
  settles(): string | undefined {
    const event = this.recorded[this.over - 1] as RecordedEvent;
    event.calls ??= this.remade;
    if (event.calls === this.remade) return undefined;
    return `had made ${this.remade} calls when it was replayed up to its ${this.over - 1}. read, and ${event.calls} before`;
  }
}

/** callText writes a call, the same for the same. */
function callText({ component, inputs, rows }: ProgramCall): string {
  const given = inputs.map(({ name, source }) => `${name}: ${sourceText(source)}`);
  return `${component}(${given.join(', ')})${rows === 1 ? '' : ` of ${rows} rows`}`;
}
