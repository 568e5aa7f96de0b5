/** The system lets a process have some hundred files open, and more that are read side by side are read no sooner. */
export const MOST_OPEN = 32;

let open = 0;
const waiting: (() => void)[] = [];

/**
 * whileOpen does work that has one file open, once fewer than 32 are. Work must not wait for other work of this function.
 * @throws as the work does
 */
export async function whileOpen<T>(work: () => Promise<T>): Promise<T> {
  if (open < MOST_OPEN) open += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // The caller that waits longest takes the place over, so that the number of open files stays as it is.
    const next = waiting.shift();
    if (next === undefined) open -= 1;
    else next();
  }
}
