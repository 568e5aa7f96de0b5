import { itemAt, largestOf } from '../collections/index.js';
import {
  aliasFaults,
  counted,
  type Fault,
  fault,
  listed,
  type OpenCluster,
  type PlannedComponent,
  type PlanServing,
  type Profile,
  type Run,
  type WorkflowEntry,
  type WorkflowMethod,
  type WorkflowSpec,
  workflowMethodOf,
} from '../formats/index.js';
import { chainFaults, chainNotes, type RequestSource } from '../workload/index.js';
import { resolveComponents } from './components.js';
import { devicesInGroups, freeDevices } from './devices.js';
import { placedAsGiven } from './placing.js';
import { workflowClusterFaults, workflowSpecFaults } from './spec-faults.js';
import { meanRows } from './training.js';

const DEFAULT_ATTAINMENT = 0.99;

/** RunsOfFile are the recorded runs of a file, with the lines that they stand on. */
export interface RunsOfFile {
  readonly path: string;
  readonly runs: readonly Run[];
  readonly lines: readonly number[];
}

/** WorkflowFiles holds what a spec of workflows names. */
export interface WorkflowFiles {
  readonly cluster: OpenCluster;
  /** The profiles of the spec's components, in order. */
  readonly profiles: readonly { readonly profile: Profile; readonly path: string }[];
  /** By workflow, the file of its recorded runs, where it names one. */
  readonly runs: readonly (RunsOfFile | undefined)[];
  /** The mean rate of the trace that is the load. */
  readonly traceRps?: number | undefined;
  /** By workflow, its share of the requests of that trace, where the trace itself says so. */
  readonly traceShares?: readonly number[] | undefined;
}

/** ResolvedEntry is a workflow, with its share of all requests, and where these come from. */
export interface ResolvedEntry {
  readonly name: string;
  readonly sloMs?: number;
  readonly share: number;
  readonly source: RequestSource;
}

/** ResolvedWorkflows is a spec with its figures: what is to be planned. */
export interface ResolvedWorkflows {
  readonly spec: WorkflowSpec;
  readonly cluster: OpenCluster;
  readonly components: readonly PlannedComponent[];
  readonly workflows: readonly ResolvedEntry[];
  /** The mean rate of all workflows together. */
  readonly rps: number;
  readonly method: WorkflowMethod;
  readonly attainment: number;
  readonly subclusters: number;
  readonly serving: PlanServing;
  readonly notes: readonly string[];
}

/**
 * resolveWorkflows joins a spec with its cluster, its profiles and its recorded runs, and reports every fault at once:
 * of the spec, of classes, of components that fit nowhere, and of runs and chains that call what there is not.
 */
export function resolveWorkflows(
  spec: WorkflowSpec,
  files: WorkflowFiles,
): { readonly resolved: ResolvedWorkflows } | { readonly faults: readonly Fault[] } {
  const { cluster, profiles } = files;
  const rows = mostRows(spec, files);
  const {
    components,
    notes,
    faults: componentFaults,
  } = resolveComponents(
    spec.components.map((component, c) => ({
      component,
      mostRows: rows.get(component.name) ?? 1,
      ...itemAt(profiles, c),
    })),
    cluster,
  );
  const names = spec.components.map(({ name }) => name);
  const faults = [
    ...workflowSpecFaults(spec),
    ...workflowClusterFaults(cluster, spec),
    ...aliasFaults(cluster, profiles),
    ...componentFaults,
    ...givenMemoryFaults(spec, components, cluster),
    ...functionFaults(files.traceShares),
    ...spec.workflows.flatMap((workflow, w) =>
      requestFaults(workflow, { names, components, at: `/workflows/${w}`, file: files.runs[w] }),
    ),
  ];
  if (faults.length > 0) return { faults };
  const workflows = resolvedEntries(spec, files);
  const unheld = unheldFaults(spec, workflows, cluster);
  if (unheld.length > 0) return { faults: unheld };
  const { planner } = spec;
  const method = workflowMethodOf(spec);
  return {
    resolved: {
      spec,
      cluster,
      components,
      workflows,
      rps: rateOf(spec, files),
      method,
      attainment: planner?.attainment ?? DEFAULT_ATTAINMENT,
      subclusters: planner?.subclusters ?? 1,
      serving: spec.serving ?? { scheduler: schedulerOf(method) },
      notes: [
        ...notes,
        ...requestNotes(spec, workflows),
        ...linkNotes(cluster),
        ...idleClassNotes(cluster, components),
      ],
    },
  };
}

/** schedulerOf is the scheduler that serves the plans of a method. */
export function schedulerOf(method: WorkflowMethod): string {
  switch (method) {
    case 'dyorc':
    case 'greedy':
    case 'round-robin':
    case 'static':
    case 'ray-like':
      return method;
    case 'given':
      return 'static';
  }
}

function rateOf({ load, rps, workflows }: WorkflowSpec, { traceRps }: WorkflowFiles): number {
  const given = rps ?? (load !== undefined && 'rps' in load ? load.rps : traceRps);
  return given ?? workflows.reduce((sum, one) => sum + (one.rps ?? 0), 0);
}

function resolvedEntries(spec: WorkflowSpec, files: WorkflowFiles): ResolvedEntry[] {
  const rps = rateOf(spec, files);
  return spec.workflows.map(({ name, sloMs, share, rps: own, chain }, w) => ({
    name,
    ...(sloMs === undefined ? {} : { sloMs }),
    share: share ?? (own === undefined ? (files.traceShares?.[w] ?? 1 / spec.workflows.length) : own / rps),
    source: chain === undefined ? { name, runs: ownRuns(name, files.runs[w]) } : { name, chain },
  }));
}

/** ownRuns gives the runs of a workflow: those of others in its file are left out. */
function ownRuns(name: string, file: RunsOfFile | undefined): readonly Run[] {
  return (file?.runs ?? []).filter(({ application }) => application === name);
}

/** mostRows is the most rows that a call of each component takes, of those that are called. */
function mostRows({ workflows }: WorkflowSpec, { runs }: WorkflowFiles): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  const saw = (component: string, rows = 1): void => {
    most.set(component, Math.max(rows, most.get(component) ?? 1));
  };
  for (const [w, { name, chain }] of workflows.entries()) {
    for (const { calls } of chain?.steps ?? []) for (const { component, rows } of calls) saw(component, rows);
    for (const { tasks } of ownRuns(name, runs[w]))
      for (const { component, rows } of tasks) saw(component, rows);
  }
  return most;
}

interface RequestsAt {
  readonly names: readonly string[];
  readonly components: readonly PlannedComponent[];
  readonly at: string;
  readonly file: RunsOfFile | undefined;
}

/** requestFaults reports where the requests of a workflow call what there is not, or take more rows than any batch has. */
function requestFaults({ name, chain }: WorkflowEntry, { names, components, at, file }: RequestsAt): Fault[] {
  const mostRows = new Map(
    components.map((component) => [
      component.name,
      largestOf([0, ...component.classes.map(({ batch }) => batch)]),
    ]),
  );
  if (chain !== undefined)
    return [
      ...chainFaults(chain, { components: names, at: `${at}/chain` }),
      ...chain.steps.flatMap(({ calls }, s) =>
        calls.flatMap(({ component, rows = 1 }, c) =>
          rowFaults(mostRows, component, rows).map((said) =>
            fault(said, `${at}/chain/steps/${s}/calls/${c}/rows`),
          ),
        ),
      ),
    ];
  if (file === undefined) return [];
  const { runs, lines, path } = file;
  if (!runs.some(({ application }) => application === name)) {
    const has = listed([...new Set(runs.map(({ application }) => application))]);
    return [fault(`is ${path}, which has no run of ${name}; it has runs of ${has}`, `${at}/runs`)];
  }
  return runs.flatMap(({ application, tasks }, r) => {
    if (application !== name) return [];
    return tasks.flatMap(({ component, rows }, t) => {
      const place = `${path}:${lines[r]} /tasks/${t}`;
      if (!names.includes(component))
        return [
          fault(
            `is ${component}, which is no component of the spec; there are ${listed(names)}`,
            `${place}/component`,
          ),
        ];
      return rowFaults(mostRows, component, rows).map((said) => fault(said, `${place}/rows`));
    });
  });
}

function rowFaults(mostRows: ReadonlyMap<string, number>, component: string, rows: number): string[] {
  const most = mostRows.get(component);
  // A component that is unknown, or runs nowhere, is reported by itself.
  if (most === undefined || most === 0 || rows <= most) return [];
  return [
    `is ${rows}, and ${component} has batches of at most ${most}: its profile ends there, or its maxBatch`,
  ];
}

/** functionFaults says which workflows have no function of the trace, so that no request would be theirs. */
function functionFaults(shares: readonly number[] = []): Fault[] {
  return shares.flatMap((share, w) =>
    share > 0
      ? []
      : [
          fault(
            'is needed: no request of the trace is of a function of this workflow',
            `/workflows/${w}/share`,
          ),
        ],
  );
}

/** givenMemoryFaults reports where given devices hold more than their memory, or what their class does not run. */
function givenMemoryFaults(
  { placement = [] }: WorkflowSpec,
  components: readonly PlannedComponent[],
  { devices }: OpenCluster,
): Fault[] {
  const known = new Map(components.map((component) => [component.name, component]));
  return placement.flatMap(({ device, holds }, p) => {
    if (!Object.hasOwn(devices, device)) return [];
    const held = [...new Set(holds)].flatMap((name) => known.get(name) ?? []);
    const unable = held.filter(({ classes }) => !classes.some((one) => one.device === device));
    const bytes = held.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    const { memoryGiB = Number.POSITIVE_INFINITY } = devices[device] ?? {};
    const at = `/placement/${p}/holds`;
    if (unable.length > 0)
      return [fault(`has ${listed(unable.map(({ name }) => name))}, which ${device} does not run`, at)];
    return bytes <= memoryGiB * 1024 ** 3
      ? []
      : [
          fault(
            `takes ${Number((bytes / 1024 ** 3).toPrecision(4))} GiB, and ${device} has ${memoryGiB}`,
            at,
          ),
        ];
  });
}

/** unheldFaults reports what requests call and no given device holds, in each subcluster. */
function unheldFaults(
  { placement, planner }: WorkflowSpec,
  workflows: readonly ResolvedEntry[],
  cluster: OpenCluster,
): Fault[] {
  if (placement === undefined) return [];
  const { subclusters = 1 } = planner ?? {};
  const counts = Object.keys(cluster.devices).map((device) => ({
    device,
    count: placement.reduce((sum, one) => sum + (one.device === device ? one.count : 0), 0),
  }));
  const placed = placedAsGiven(devicesInGroups(cluster, counts, subclusters), placement);
  return Array.from({ length: subclusters }, (_, group) => group).flatMap((group) => {
    const own = placed.filter(({ subcluster = 0 }) => subcluster === group);
    const held = new Set(own.flatMap(({ holds }) => holds));
    const unheld = [...calledBy(workflows)].filter((name) => !held.has(name));
    if (unheld.length === 0) return [];
    const where =
      subclusters === 1
        ? ''
        : ` in subcluster ${group}, which has ${listed(own.map(({ server, gpu }) => `${server}/gpu${gpu}`))}`;
    return [fault(`has no device for ${listed(unheld)}, which requests call${where}`, '/placement')];
  });
}

/** calledBy lists the components that some request calls. */
function calledBy(workflows: readonly ResolvedEntry[]): ReadonlySet<string> {
  return new Set(workflows.flatMap(({ source }) => [...meanRows(source).keys()]));
}

function requestNotes({ components, workflows }: WorkflowSpec, entries: readonly ResolvedEntry[]): string[] {
  const called = calledBy(entries);
  const uncalled = components.map(({ name }) => name).filter((name) => !called.has(name));
  return [
    ...workflows.flatMap(({ name, chain }) => (chain === undefined ? [] : chainNotes(chain, name))),
    ...(uncalled.length === 0 ? [] : [`no request calls ${listed(uncalled)}`]),
  ];
}

/** idleClassNotes says which devices no plan uses, as no component runs on their class. */
function idleClassNotes(cluster: OpenCluster, components: readonly PlannedComponent[]): string[] {
  const able = new Set(components.flatMap(({ classes }) => classes.map(({ device }) => device)));
  return freeDevices(cluster).flatMap(({ device, count }) =>
    count === 0 || able.has(device)
      ? []
      : [
          `no component runs on ${device}: ${counted(count, 'device')} of it ${count === 1 ? 'is' : 'are'} not used`,
        ],
  );
}

/** linkNotes says where transfers count no time, as the cluster does not name the rates of links. */
function linkNotes({ devices, networkGbps }: OpenCluster): string[] {
  const unknown = Object.entries(devices).flatMap(([name, { linkGbps }]) =>
    (linkGbps ?? networkGbps) === undefined ? [name] : [],
  );
  if (unknown.length === 0) return [];
  return [
    `the cluster does not name the rate of the links of ${listed(unknown)}, so transfers over those count no time`,
  ];
}
