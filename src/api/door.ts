/**
 * door gives the function of a command, whose file and rooms are loaded when it is called first. Each call is one run
 * (`asOneRun`), or a part of the one that it is called in: it replaces no file that it has read, and long reading hears
 * the signal of its options.
 */
export function door<Given extends readonly unknown[], Result>(
  open: () => Promise<(...given: Given) => Promise<Result>>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const { asOneRun } = await import('../artifacts/index.js');
    const command = await open();
    return asOneRun(() => command(...given), signalIn(given.at(-1)));
  };
}

function signalIn(options: unknown): AbortSignal | undefined {
  const { signal } = (options ?? {}) as { readonly signal?: unknown };
  return signal instanceof AbortSignal ? signal : undefined;
}
