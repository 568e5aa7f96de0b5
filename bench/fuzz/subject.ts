import type { TryCase } from '../seeded/every-case.js';

/** Subject makes and tries the cases of one kind of input. */
export interface Subject {
  readonly run: TryCase;
  close(): Promise<void>;
}
