import { itemAt } from '../../../collections/index.js';
import { type Fault, fault, stageIndex } from '../../../formats/index.js';
import { isPython, type TritonPlan, tritonType } from './bundle.js';
import { stagesOfRoute } from './names.js';
import { isReached, LEAST_TIMEOUT_US } from './timeouts.js';

/** The providers that Triton's ONNX Runtime backend has. */
const PROVIDERS = ['cpu', 'cuda', 'tensorrt'];
/** Up to this many servers are each named. */
const MOST_NAMED = 3;

/** refusedByTriton finds what Triton cannot do of a plan, with a target that can. */
export function refusedByTriton(triton: TritonPlan): Fault[] {
  return [
    ...splitRoutes(triton),
    ...unusedStages(triton),
    ...shortTimeouts(triton),
    ...unknownTypes(triton),
    ...unknownProviders(triton),
  ];
}

/** splitRoutes finds pipelines whose stages are on different servers: each Triton calls only the models that it holds. */
function splitRoutes({ graph, layouts, names }: TritonPlan): Fault[] {
  const told = new Set<string>();
  return graph.models.flatMap((model, m) =>
    model.routes.flatMap(({ entry }, p) => {
      const stages = stagesOfRoute(graph, entry);
      const isWhole = layouts.every(({ held }) => {
        const here = stages.filter((stage) => held.has(stage));
        return here.length === 0 || here.length === stages.length;
      });
      const key = stages.join();
      if (isWhole || told.has(key)) return [];
      told.add(key);
      const where = stages.map((stage) => `${names.stages[stage]} on ${serversOf(layouts, stage)}`);
      const what = graph.gears === undefined ? `pipeline ${p} of ${model.name}` : `the cascade ${model.name}`;
      const { part } = itemAt(graph.stages, entry);
      const path =
        part.stage.kind === 'partition' ? `/models/${m}/pipelines/${part.stage.pipeline}` : '/placement';
      return [
        fault(
          `${what} is not whole on each of its servers: ${where.join('; ')}. A Triton server calls only its own models; the target ray-serve runs such a plan, or place all its stages on each server`,
          path,
        ),
      ];
    }),
  );
}

function serversOf(layouts: TritonPlan['layouts'], stage: number): string {
  const all = layouts.flatMap(({ held, servers }) => (held.has(stage) ? servers : []));
  const more = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `${all.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** unusedStages finds stages of which nothing is taken: a step of an ensemble must give something. */
function unusedStages({ graph: { stages }, names }: TritonPlan): Fault[] {
  return stages.flatMap(({ outputs, part }, i) =>
    outputs.length > 0
      ? []
      : [
          fault(
            `no stage and no client takes what ${names.stages[i]} gives, and Triton has no model without outputs; leave it out of the pipeline, or deploy it for the target ray-serve`,
            `/stages/${stageIndex(part.stage)}`,
          ),
        ],
  );
}

/** shortTimeouts finds queues for which the SLO leaves nearly nothing, or nothing. */
function shortTimeouts(triton: TritonPlan): Fault[] {
  const { graph, names, timeouts } = triton;
  return graph.models.flatMap((model, m) => {
    const stages = names.stages.map((name, i) => ({ name, us: itemAt(timeouts.stageUs, i), i }));
    const queues = stages.filter(({ i }) => isReached(graph, model, i));
    const front = { name: itemAt(names.fronts, m), us: itemAt(timeouts.frontUs, m) };
    const short = [...(isPython(triton, model) ? [front] : []), ...queues].filter(
      ({ us }) => us < LEAST_TIMEOUT_US,
    );
    if (short.length === 0) return [];
    const told = short.map(({ name, us }) => `${name} (${us} µs)`).join(', ');
    return [
      fault(
        `the SLO of ${model.name}, ${model.sloMs} ms, leaves too little beside its executions for requests to wait in the queues of ${told}: Triton itself may take as long to hand a request on, and would drop it; allow a longer SLO, or deploy the plan for the target ray-serve`,
      ),
    ];
  });
}

function unknownTypes({ graph: { stages, models } }: TritonPlan): Fault[] {
  const keyed = [
    ...stages.flatMap((stage) =>
      [...stage.inputs, ...stage.outputs].map(({ spec }) => ({ spec, of: stage.name })),
    ),
    ...models.flatMap(({ name, inputs, outputs }) =>
      [...inputs, ...outputs].map(({ spec }) => ({ spec, of: name })),
    ),
  ];
  const wrong = keyed.filter(({ spec }) => tritonType(spec.dtype) === undefined);
  return [...new Map(wrong.map((one) => [`${one.of} ${one.spec.name}`, one])).values()].map(({ spec, of }) =>
    fault(
      `the tensor ${spec.name} of ${of} is ${spec.dtype}, which Triton's ONNX Runtime backend has not; cast it to float16 or float32 in the model`,
      '/models',
    ),
  );
}

function unknownProviders({ layouts }: TritonPlan): Fault[] {
  const wrong = layouts.filter(({ run }) => run !== undefined && !PROVIDERS.includes(run.provider));
  return [...new Map(wrong.map((one) => [one.deviceClass, one])).values()].map(({ deviceClass, run }) =>
    fault(
      `${deviceClass} runs models by ${run?.provider}, and Triton's ONNX Runtime backend has ${PROVIDERS.join(', ')}; the targets local and ray-serve run it`,
      `/cluster/devices/${deviceClass}`,
    ),
  );
}
