import { itemAt } from '../../collections/index.js';
import { type Fault, fault, type GearPlan, type GearStage, type TensorSpec } from '../../formats/index.js';

/** ServedCascade is a gear plan as its clients see it: as one model, which is fed and answers as each of its models. */
export interface ServedCascade {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** servedCascadeOf gives the tensors of a gear plan's models, which are alike. */
export function servedCascadeOf({ stages }: Pick<GearPlan, 'stages'>): ServedCascade {
  const { inputs = [], outputs = [] } = itemAt(stages, 0);
  return { inputs: inputs.map(({ from: _, ...spec }) => spec), outputs };
}

/**
 * unservedCascadeFaults reports what a gear plan lacks for its models to be run: tensors that its profiles do not describe,
 * models that are not fed or do not answer alike, and outputs from which certainty follows.
 */
export function unservedCascadeFaults({ stages }: Pick<GearPlan, 'stages'>): Fault[] {
  const unlike = unlikeTensors(stages);
  return stages.flatMap((stage, i) => {
    const at = `/stages/${i}`;
    const unknown = (['inputs', 'outputs'] as const).flatMap((which) =>
      stage[which] === undefined
        ? [fault(`has none: its profile does not say the model's ${which}`, `${at}/${which}`)]
        : [],
    );
    if (unknown.length > 0) return unknown;
    const differing = unlike.flatMap(({ of, which, said }) =>
      of === i ? [fault(said, `${at}/${which}`)] : [],
    );
    return [...differing, ...scoreFaults(stage, at)];
  });
}

/**
 * unlikeModelFaults finds models of a cascade's spec that are not fed or do not answer alike, which `unservedCascadeFaults`
 * refuses in a plan of them.
 * @param models one for each model of the spec, in order, with the tensors that its profile describes
 */
export function unlikeModelFaults(models: readonly ModelTensors[]): Fault[] {
  return unlikeTensors(models).map(({ of, which, said }) => fault(`${which} ${said}`, `/models/${of}`));
}

/** ModelTensors are the tensors of a model of a cascade, as far as they are known. */
type ModelTensors = Pick<GearStage, 'name'> & {
  readonly inputs?: readonly TensorSpec[] | undefined;
  readonly outputs?: readonly TensorSpec[] | undefined;
};

/** UnlikeTensors says in what the model `of` differs from the first whose tensors are known. */
interface UnlikeTensors {
  readonly of: number;
  readonly which: 'inputs' | 'outputs';
  readonly said: string;
}

function unlikeTensors(models: readonly ModelTensors[]): UnlikeTensors[] {
  return (['inputs', 'outputs'] as const).flatMap((which) => {
    const first = models.find((model) => model[which] !== undefined);
    if (first === undefined) return [];
    const wanted = wordsOf(first[which]);
    return models.flatMap((model, of) => {
      const own = wordsOf(model[which]);
      if (model[which] === undefined || own === wanted) return [];
      const said = `are ${own}, and those of ${first.name} are ${wanted}: all models must be alike`;
      return [{ of, which, said }];
    });
  });
}

function scoreFaults({ output, outputs = [] }: GearStage, at: string): Fault[] {
  const has = outputs.map(({ name }) => name).join(', ');
  if (output === undefined)
    return [
      fault(
        `is needed: the model has several outputs, ${has}; name that of the scores in the spec`,
        `${at}/output`,
      ),
    ];
  const found = outputs.find(({ name }) => name === output);
  if (found === undefined) return [fault(`is ${output}, and the model has ${has}`, `${at}/output`)];
  return found.dtype === 'string'
    ? [fault(`is ${output}, which is text; certainty follows from numbers`, `${at}/output`)]
    : [];
}

function wordsOf(specs: readonly TensorSpec[] | undefined): string {
  return (specs ?? [])
    .map(({ name, dtype, shape, batchAxis }) => {
      const sizes = shape.map((size, axis) => (axis === batchAxis ? '*' : String(size)));
      return `${name} ${dtype}[${sizes.join(', ')}]`;
    })
    .join(', ');
}
