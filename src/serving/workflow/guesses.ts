import { END, type NextCall } from './histories.js';
import type { OpenRequest } from './work.js';

/**
 * Guesses counts the calls, ends included, where something was expected, and those that were as expected: in all, or in
 * their component.
 */
export class Guesses {
  made = 0;
  right = 0;
  rightComponents = 0;

  /** isAsExpected returns whether a program does what was expected of its request, and counts that, where anything was. */
  isAsExpected({ expected, isToEnd }: OpenRequest, { component, back }: NextCall): boolean {
    const [next] = expected;
    if (next === undefined && !isToEnd) return false;
    const isComponent = (next?.component ?? END) === component;
    const isRight = isComponent && (next?.back ?? []).join() === back.join();
    this.made += 1;
    if (isComponent) this.rightComponents += 1;
    if (isRight) this.right += 1;
    return isRight;
  }
}
