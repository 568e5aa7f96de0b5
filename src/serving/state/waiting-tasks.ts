/**
 * QueueOrder says in which order a queue is served.
 * - fifo: tasks that came to the stage first are first.
 * - deadline: those with the least remaining budget are.
 * - latest-deadline: those with the most are.
 * - adaptive: those with the most are while more comes to the stage than it can serve, else those with the least
 *   (PARD §4.3). The transition is delayed by how much the load varies, or instant.
 * Where those with the most are first, those go before them of whose row a parallel stage of a DAG has taken on its part: what
 * only one of the two serves is lost.
 * In the first two, tasks that rank equally are served in the order they came.
 */
export type QueueOrder =
  | { kind: 'fifo' }
  | { kind: 'deadline' }
  | { kind: 'latest-deadline' }
  | { kind: 'adaptive'; transition: 'delayed' | 'instant' };

/** WaitingTasks holds queues in which tasks wait. Tasks may leave from any place. */
export interface WaitingTasks {
  /** count is the number of queues. */
  readonly count: number;
  size(queue: number): number;
  /** first is the task that is served next, NONE where none waits. */
  first(queue: number): number;
  /** mostUrgent is a task of which no other waits that is certain to be too late before it, NONE where none waits. */
  mostUrgent(queue: number): number;
  /**
   * insert puts a task in its place.
   * @returns whether the task is now the last of its queue
   */
  insert(queue: number, task: number): boolean;
  remove(queue: number, task: number): void;
  /** begunBeside reports that a stage parallel to a waiting task's has taken its row on. It is absent where no order asks. */
  begunBeside?(queue: number, task: number): void;
  /** latestEnd is the latest instant at which a task may end: its deadline less `slackNs`. */
  latestEnd(task: number): number;
  /**
   * isAlone returns whether a task was in a batch that failed or was lost as it ran, and is therefore tried alone: it
   * may be what failed the batch.
   */
  isAlone(task: number): boolean;
}

/** ListOrder is an order in which a task's place among the others never changes. */
export type ListOrder = Extract<QueueOrder, { kind: 'fifo' | 'deadline' }>;
