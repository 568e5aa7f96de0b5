/** OnwardHooks is what moving tasks asks of the scheduler, which holds the queues. */
export interface OnwardHooks {
  /** comesTo puts a task into the queue of a stage. */
  comesTo(at: number, task: number, stage: number): void;
  /** branched reports that a task has come to be beside another of its row. */
  branched(task: number): void;
  /** watchesEdges returns whether `took` is to be called for the tasks of a stage. */
  watchesEdges(stage: number): boolean;
  /** took says which edges a task takes that leaves a stage, as bits in their order. */
  took(stage: number, edges: number): void;
}

/** Onward moves tasks from stage to stage along edges: through DAGs (Passing) or cascades (Escalation). */
export interface Onward {
  /** openFlows gives each row of a new request a flow through the route whose first stage is that of pool `first`. */
  openFlows(request: number, first: number): void;
  /** enter lets a new request begin at all entries. The scheduler has put its first tasks before the first of them. */
  enter(at: number, request: number, first: number): void;
  /** judged keeps the verdicts on the tasks of a batch, in the order of the tasks. */
  judged(batch: number, verdicts: ArrayLike<number>): void;
  /** sendOn sends the tasks of a batch on that are not at their end, in a batch for each edge, and closes the batch. */
  sendOn(at: number, batch: number): void;
  /** delivered brings the tasks of a batch to the stage that its edge leads to, and closes the batch. */
  delivered(at: number, batch: number): void;
  /** stageAfter is the stage that the batch is sent to. */
  stageAfter(batch: number): number;
}
