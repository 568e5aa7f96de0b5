import { type Bundle, type Fault, fault } from '../../formats/index.js';

/**
 * manifestFaults finds what a manifest says twice: a model, a partition, a stage, a component, a program, or a tensor
 * of one of them.
 */
export function* manifestFaults({
  models,
  partitions,
  stages = [],
  components = [],
  programs = [],
}: Bundle): Generator<Fault> {
  yield* twice('/models', models, ({ name }) => `the model ${name}`);
  yield* twice('/partitions', partitions, (one) => `model ${one.model}, blocks ${one.from} to ${one.to}`);
  yield* twice('/stages', stages, ({ name }) => `the stage ${name}`);
  yield* twice('/components', components, ({ name }) => `the component ${name}`);
  yield* twice('/programs', programs, ({ workflow }) => `the program of ${workflow}`);
  for (const [place, holders] of Object.entries({ models, partitions, stages, components }))
    for (const [i, { inputs, outputs }] of holders.entries()) {
      yield* twice(`/${place}/${i}/inputs`, inputs, ({ name }) => `the input ${name}`);
      yield* twice(`/${place}/${i}/outputs`, outputs, ({ name }) => `the output ${name}`);
    }
}

/** twice finds entries of a list that are of one thing. */
function* twice<T>(path: string, entries: readonly T[], what: (entry: T) => string): Generator<Fault> {
  const seen = new Map<string, number>();
  for (const [i, entry] of entries.entries()) {
    const told = what(entry);
    const first = seen.get(told);
    if (first === undefined) seen.set(told, i);
    else yield fault(`is ${told} again, as ${path}/${first}`, `${path}/${i}`);
  }
}
