import type { CompareSchedulersOptions } from '../../api/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import { fileOf } from '../output.js';
import type { Context } from '../run.js';
import { warnUnchecked } from '../unchecked.js';

/** The options that have no meaning where several schedulers are compared, with what they are for. */
const FOR_ONE = {
  scheduler: ['--scheduler', 'is for one scheduler'],
  preset: ['--preset', 'is of one scheduler, and changes links and rounding too'],
  sweep: ['--sweep', 'is for one scheduler'],
  timeline: ['--timeline', 'is for one run'],
  failUnder: ['--fail-under', 'asks whether the plan holds under the scheduler that serves it'],
} as const;

/** SchedulersOptions are the options of `plan simulate --schedulers`. */
type SchedulersOptions = Omit<CompareSchedulersOptions, 'traces' | 'phases'> & {
  readonly trace?: string[];
  readonly phase?: string[];
} & { readonly [K in keyof typeof FOR_ONE]?: unknown };

/** simulateSchedulers simulates a plan under several schedulers and shows them side by side. */
export async function simulateSchedulers(
  { terminal, signal, progress, inFlags }: Context,
  { trace: traces, phase: phases, ...options }: SchedulersOptions,
  plan: string,
): Promise<ExitCode> {
  await refuseForOne(options, plan);
  const { compareSchedulers } = await import('../../api/index.js');
  const { groupedWarnings, schedulerCases, schedulersParts } = await import('../../report/index.js');
  const shown = await progress();
  const { comparison, warnings } = await compareSchedulers(plan, {
    ...options,
    output: fileOf(options.output),
    ...(traces === undefined ? {} : { traces }),
    ...(phases === undefined ? {} : { phases }),
    signal,
    onNote: (text) => shown.note(text),
    onProgress: ({ done, of, leftMs }) =>
      shown.show({ doing: `${done} of ${of} runs`, fraction: done / of, leftMs }),
  });
  shown.stop();
  terminal.document(comparison);
  await terminal.parts(schedulersParts(comparison));
  await terminal.artifact('comparison', options.output, comparison);
  await warnUnchecked({ terminal, inFlags }, comparison);
  await terminal.remarks(groupedWarnings(comparison.notes ?? []).map((note) => `of the plan: ${note}`));
  await terminal.warnings(warnings.map(inFlags));
  terminal.judge(schedulerCases(comparison));
  return comparison.complete ? EXIT.done : EXIT.interrupted;
}

async function refuseForOne(options: SchedulersOptions, plan: string): Promise<void> {
  const { InputError } = await import('../../formats/index.js');
  const faults = Object.entries(FOR_ONE)
    .filter(([name]) => options[name as keyof typeof FOR_ONE] !== undefined)
    .map(([, [path, what]]) => ({ path, message: `${what}, not for --schedulers` }));
  if (faults.length > 0) throw new InputError(`simulate ${plan}`, faults);
}
