import { NONE } from '../../../../src/collections/index.js';
import type { QueueSet } from '../../../../src/serving/stage-local/placing/queue-set.js';

/** membersOf lists the members of a set of queues in order. */
export function membersOf(queues: QueueSet): number[] {
  const members: number[] = [];
  for (let queue = queues.next(0); queue !== NONE; queue = queues.next(queue + 1)) members.push(queue);
  return members;
}
