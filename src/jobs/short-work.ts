/**
 * For so long a short job may block the thread that asks for it, which hears Ctrl-C only then: CPU time, as on a busy
 * machine all take longer.
 */
const SHORT_US = 400_000;

/**
 * doneShortly does a job in this thread, and thereby saves what a thread of its own takes to start. It is for jobs that
 * are likely to be short, and that look at `interrupted` several times a second.
 * @param act does the job. It ends soon after `interrupted` has become true, with whatever it has
 * @returns the answer; undefined where the job was cut short after 0.4 s of CPU time, or the signal is aborted, and a
 *   thread has to do it
 * @throws what `act` throws
 */
export async function doneShortly<Answer>(
  act: (interrupted: () => boolean) => Answer | Promise<Answer>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Answer | undefined> {
  if (signal?.aborted) return undefined;
  const before = process.cpuUsage();
  let isCut = false;
  const interrupted = (): boolean => {
    if (isCut) return true;
    const { user, system } = process.cpuUsage(before);
    isCut = user + system > SHORT_US;
    return isCut;
  };
  const answer = await act(interrupted);
  return isCut ? undefined : answer;
}
