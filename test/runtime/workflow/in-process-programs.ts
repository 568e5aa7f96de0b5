import type {
  Program,
  ProgramDriver,
  ProgramTensor,
  SourceName,
  TensorSource,
} from '../../../src/programs/index.js';
import { sourceKey } from '../../../src/programs/index.js';
import type { RunPrograms } from '../../../src/runtime/workflow/live-programs.js';

interface NamedSource extends TensorSource {
  readonly source: SourceName;
}

interface Reading {
  readonly give: (tensor: ProgramTensor) => void;
}

/**
 * InProcessPrograms runs programs in this thread, without limits and without checks: what they call has one row, and outputs that a
 * program does not give were not made.
 */
export class InProcessPrograms implements RunPrograms {
  driver: ProgramDriver | undefined;
  /** The runs that go on, each with what it waits for. */
  readonly going = new Map<number, Map<string, Reading>>();

  constructor(
    private readonly programs: readonly Program[],
    private readonly outputs: readonly string[],
  ) {}

  begin(application: number, run: number): void {
    this.going.set(run, new Map());
    queueMicrotask(() => void this.run(this.programs[application]!, run));
  }

  private async run(program: Program, run: number): Promise<void> {
    let tasks = 0;
    const named = (source: SourceName, name: string): NamedSource => ({ name, source });
    const read = (source: SourceName) =>
      new Promise((resolve) => {
        this.going.get(run)?.set(sourceKey(source), { give: resolve });
        if (this.going.has(run)) this.driver?.wanted(run, source);
      }) as never;
    const ofRequest = (input: string): SourceName => ({ from: 'request', input });
    const call = (component: string, given: Readonly<Record<string, TensorSource>>) => {
      const task = tasks++;
      const inputs = Object.entries(given).map(([name, source]) => ({
        name,
        source: (source as NamedSource).source,
      }));
      if (this.going.has(run)) this.driver?.called(run, { task, component, inputs, rows: 1 });
      const output = (name: string): SourceName => ({ from: 'task', task, output: name });
      return { out: (name: string) => named(output(name), name), read: (name: string) => read(output(name)) };
    };
    const request = {
      in: (name: string) => named(ofRequest(name), name),
      read: (name: string) => read(ofRequest(name)),
    };
    let returned: Readonly<Record<string, unknown>>;
    try {
      returned = await program(request, { call, now: () => 0, random: () => 0 });
    } catch (error) {
      if (this.going.delete(run))
        this.driver?.ended(run, { reason: 'program-error', message: (error as Error).message }, []);
      return;
    }
    if (!this.going.delete(run)) return;
    const made = this.outputs.filter((name) => returned[name] !== undefined);
    const outputs = made.map((name) => {
      const given = returned[name] as NamedSource | ProgramTensor;
      return [name, 'source' in given ? given.source : given];
    });
    const notTaken = this.outputs.filter((name) => !made.includes(name));
    this.driver?.ended(run, { outputs: Object.fromEntries(outputs), notTaken }, []);
  }

  give({ number }: { readonly number: number }, source: SourceName, tensor: ProgramTensor): void {
    this.going.get(number)?.get(sourceKey(source))?.give(tensor);
  }

  cancel(_application: number, run: number): void {
    this.going.delete(run);
  }
}
