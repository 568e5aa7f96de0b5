import { pushAll } from '../collections/index.js';
import { isCheaper } from './trials.js';

/** ClassCounts is a number of devices by class; a class that is absent has no limit. */
type ClassCounts = Readonly<Record<string, number>>;

/** PartPlan is how one of several pipelines is served with a given number of devices. */
export interface PartPlan<Plan> {
  readonly plan: Plan;
  readonly hourlyCost: number;
  /** No plan of this pipeline within its devices costs less. */
  readonly lowerBound: number;
  /** The devices that it uses, by class. */
  readonly used: Readonly<Record<string, number>>;
}

/** PartAnswer is what a search for one pipeline ended with: without a part there is none, or none was found in time. */
export type PartAnswer<Plan> =
  | { readonly status: 'feasible'; readonly part: PartPlan<Plan> }
  | {
      readonly status: 'infeasible';
      /** isProved says whether it is proved of all schedulers; true where absent. */
      readonly isProved?: boolean;
      readonly part?: undefined;
    }
  | { readonly status: 'undecided'; readonly part?: undefined };

/** TogetherInput is several pipelines that share nothing but the devices of a cluster. */
export interface TogetherInput<Plan> {
  readonly pipelines: number;
  readonly counts: ClassCounts;
  /** Plans one pipeline alone with a given number of devices. */
  readonly solve: (pipeline: number, counts: ClassCounts) => Promise<PartAnswer<Plan>>;
  /** Whether to search until the least cost is proved; otherwise the first plans that fit end the search. */
  readonly prove: boolean;
  /** The most calls of `solve`. */
  readonly mostSolves: number;
  readonly stop?: () => boolean;
}

/** TogetherOutcome is what came of planning several pipelines for one cluster. */
export type TogetherOutcome<Plan> =
  | {
      readonly status: 'feasible';
      readonly parts: readonly PartPlan<Plan>[];
      readonly hourlyCost: number;
      readonly lowerBound: number;
      readonly finished: boolean;
    }
  | {
      readonly status: 'infeasible';
      /**
       * isProved says whether it is proved of all schedulers, or only of those that serve in order of
       * arrival.
       */
      readonly isProved: boolean;
      /** The pipelines that have no plan even alone on the cluster. */
      readonly alone: readonly number[];
      /** The classes of which this many more devices would be enough, each by itself. */
      readonly missing: Readonly<Record<string, number>>;
    }
  | { readonly status: 'undecided' };

const MOST_ORDERS = 6;
/** Branches may be many more than calls of `solve`, whose answers are kept. */
const MOST_BRANCHES = 20_000;

/**
 * planTogether plans several pipelines at the least sum of costs within the devices of one cluster. Each is planned by
 * itself first; where their plans fit together, they are the answer, and their bounds add up.
 *
 * Otherwise it branches. Where plans use more devices of a class than there are, every set of plans that fits gives some
 * pipeline fewer of these devices than its plan has; so for each of them a branch takes one device less, and plans that
 * pipeline again. The sum of the bounds of single pipelines bounds a branch. Planning one after another, with what those
 * before leave, gives plans to begin with.
 */
export async function planTogether<Plan>(input: TogetherInput<Plan>): Promise<TogetherOutcome<Plan>> {
  const search = new SharedSearch(input);
  const all = Array.from({ length: input.pipelines }, () => input.counts);
  const answers = await search.answers(all);
  const alone = answers.flatMap(({ status }, k) => (status === 'infeasible' ? [k] : []));
  const isProved = answers.some((one) => one.status === 'infeasible' && one.isProved !== false);
  if (alone.length > 0) return { status: 'infeasible', isProved, alone, missing: {} };
  const parts = partsOf(answers);
  if (parts === undefined) return { status: 'undecided' };
  const outcome = await search.from({ counts: all, parts, bound: sumOf(parts, 'lowerBound') });
  return outcome.status === 'infeasible'
    ? { ...outcome, missing: await missing(input, search.solved) }
    : outcome;
}

/** While it is sought how many more devices would do, a number that this many searches leave open counts as too few. */
const MOST_SOLVES_FOR_MORE = 50;

/** missing says, for each class, how many devices more would be enough, by halving. */
async function missing<Plan>(
  input: TogetherInput<Plan>,
  solved: Map<string, PartAnswer<Plan>>,
): Promise<Record<string, number>> {
  const { counts, pipelines } = input;
  const found: Record<string, number> = {};
  for (const [device, count] of Object.entries(counts)) {
    const fits = async (more: number): Promise<boolean> => {
      const raised = { ...input, counts: { ...counts, [device]: count + more } };
      const search = new SharedSearch(
        { ...raised, prove: false, mostSolves: MOST_SOLVES_FOR_MORE },
        solved,
        true,
      );
      return search.fitsSomehow();
    };
    let [short, enough] = [0, Math.max(1, count * (pipelines - 1))];
    if (!(await fits(enough))) continue;
    while (enough - short > 1 && input.stop?.() !== true) {
      const middle = (short + enough) >> 1;
      if (await fits(middle)) enough = middle;
      else short = middle;
    }
    found[device] = enough;
  }
  return found;
}

interface Branch<Plan> {
  /** The devices that each pipeline may use at most. */
  readonly counts: readonly ClassCounts[];
  readonly parts: readonly PartPlan<Plan>[];
  readonly bound: number;
}

class SharedSearch<Plan> {
  private solves = 0;
  private branches = 0;
  private best: readonly PartPlan<Plan>[] | undefined;
  private bestCost = Number.POSITIVE_INFINITY;
  /** The least bound of the branches that were left before they were decided. */
  private left = Number.POSITIVE_INFINITY;
  /** The least bound of the branches that have no plans in order of arrival, and may have some that are served otherwise. */
  private unproved = Number.POSITIVE_INFINITY;

  constructor(
    private readonly input: TogetherInput<Plan>,
    readonly solved = new Map<string, PartAnswer<Plan>>(),
    private readonly first = false,
  ) {}

  private get stopped(): boolean {
    const { mostSolves, stop } = this.input;
    return this.solves >= mostSolves || this.branches >= MOST_BRANCHES || stop?.() === true;
  }

  /**
   * answers plans every pipeline with the devices that it may use. A question that was answered before is not
   * asked again.
   */
  async answers(counts: readonly ClassCounts[]): Promise<PartAnswer<Plan>[]> {
    const answers: PartAnswer<Plan>[] = [];
    for (const [pipeline, own] of counts.entries()) answers.push(await this.answer(pipeline, own));
    return answers;
  }

  private async answer(pipeline: number, counts: ClassCounts): Promise<PartAnswer<Plan>> {
    const key = `${pipeline} ${JSON.stringify(counts)}`;
    const known = this.solved.get(key);
    if (known !== undefined) return known;
    this.solves++;
    const answer = await this.input.solve(pipeline, counts);
    this.solved.set(key, answer);
    return answer;
  }

  /** fitsSomehow says whether there are plans that fit, at whatever cost. */
  async fitsSomehow(): Promise<boolean> {
    const all = Array.from({ length: this.input.pipelines }, () => this.input.counts);
    const parts = partsOf(await this.answers(all));
    if (parts === undefined) return false;
    return (await this.from({ counts: all, parts, bound: sumOf(parts, 'lowerBound') })).status === 'feasible';
  }

  async from(root: Branch<Plan>): Promise<TogetherOutcome<Plan>> {
    const { counts, prove } = this.input;
    if (overused(root.parts, counts) !== undefined) await this.oneAfterAnother(counts);
    const open = [root];
    const seen = new Set<string>();
    const rank = (branch: Branch<Plan>): number => (prove ? branch.bound : sumOf(branch.parts, 'hourlyCost'));
    while (open.length > 0) {
      const next = open.reduce((a, b) => (rank(b) < rank(a) ? b : a));
      if (this.stopped || (!prove && rank(next) >= this.bestCost)) break;
      if (this.first && this.best !== undefined) break;
      open.splice(open.indexOf(next), 1);
      if (!isCheaper(next.bound, this.bestCost)) continue;
      const device = overused(next.parts, counts);
      if (device === undefined) this.fits(next);
      else pushAll(open, await this.below(next, device, seen));
    }
    const bounds = [this.left, ...open.map(({ bound }) => bound)];
    const leftOpen = bounds.reduce((least, bound) => Math.min(least, bound), this.bestCost);
    const lowerBound = Math.min(leftOpen, this.unproved);
    const finished = !this.stopped || open.length === 0;
    if (this.best !== undefined) {
      const proved = Math.max(root.bound, lowerBound);
      const { best: parts, bestCost: hourlyCost } = this;
      return { status: 'feasible', parts, hourlyCost, lowerBound: Math.min(hourlyCost, proved), finished };
    }
    if (leftOpen < Number.POSITIVE_INFINITY) return { status: 'undecided' };
    return { status: 'infeasible', isProved: lowerBound === leftOpen, alone: [], missing: {} };
  }

  /** fits keeps plans that need no more devices than there are. Plans within their devices may cost less than these. */
  private fits({ parts, bound }: Branch<Plan>): void {
    const cost = sumOf(parts, 'hourlyCost');
    this.keep(parts);
    if (isCheaper(bound, cost)) this.left = Math.min(this.left, bound);
  }

  private keep(parts: readonly PartPlan<Plan>[]): void {
    const cost = sumOf(parts, 'hourlyCost');
    if (isCheaper(cost, this.bestCost)) [this.best, this.bestCost] = [parts, cost];
  }

  /** below gives each pipeline in turn fewer devices of a class than its plan uses. */
  private async below({ counts, parts, bound }: Branch<Plan>, device: string, seen: Set<string>) {
    const branches: Branch<Plan>[] = [];
    for (const [k, { used }] of parts.entries()) {
      if ((used[device] ?? 0) === 0) continue;
      const fewer = counts.map((own, i) =>
        i === k ? { ...own, [device]: (used[device] as number) - 1 } : own,
      );
      const key = JSON.stringify(fewer);
      if (seen.has(key)) continue;
      seen.add(key);
      const answer = await this.answer(k, fewer[k] as ClassCounts);
      if (answer.status === 'undecided') this.left = Math.min(this.left, bound);
      if (answer.status === 'infeasible' && answer.isProved === false)
        this.unproved = Math.min(this.unproved, bound);
      if (answer.part === undefined) continue;
      const changed = parts.map((part, i) => (i === k ? answer.part : part));
      this.branches++;
      branches.push({ counts: fewer, parts: changed, bound: Math.max(bound, sumOf(changed, 'lowerBound')) });
    }
    return branches;
  }

  /** oneAfterAnother plans the pipelines in several orders, each with what those before it leave, and keeps the best. */
  private async oneAfterAnother(counts: ClassCounts): Promise<void> {
    for (const order of ordersOf(this.input.pipelines)) {
      if (this.stopped) break;
      const parts = await this.inOrder(order, counts);
      if (parts !== undefined) this.keep(parts);
    }
  }

  private async inOrder(
    order: readonly number[],
    counts: ClassCounts,
  ): Promise<PartPlan<Plan>[] | undefined> {
    const parts = new Array<PartPlan<Plan>>(order.length);
    let free = counts;
    for (const pipeline of order) {
      const { part } = await this.answer(pipeline, free);
      if (part === undefined) return undefined;
      parts[pipeline] = part;
      const left = Object.entries(free).map(
        ([name, count]) => [name, count - (part.used[name] ?? 0)] as const,
      );
      free = Object.fromEntries(left);
    }
    return parts;
  }
}

function partsOf<Plan>(answers: readonly PartAnswer<Plan>[]): PartPlan<Plan>[] | undefined {
  const parts = answers.flatMap(({ part }) => (part === undefined ? [] : [part]));
  return parts.length === answers.length ? parts : undefined;
}

function sumOf<Plan>(parts: readonly PartPlan<Plan>[], what: 'hourlyCost' | 'lowerBound'): number {
  return parts.reduce((sum, part) => sum + part[what], 0);
}

/** overused names the class of which the plans use most beyond what there is; none where they fit. */
function overused<Plan>(parts: readonly PartPlan<Plan>[], counts: ClassCounts): string | undefined {
  const over = Object.entries(counts).map(([device, count]) => ({
    device,
    over: parts.reduce((sum, { used }) => sum + (used[device] ?? 0), 0) - count,
  }));
  const most = over.reduce((a, b) => (b.over > a.over ? b : a), { device: '', over: 0 });
  return most.over > 0 ? most.device : undefined;
}

/** ordersOf lists every order of a few pipelines, and for more of them those that begin with each. */
function ordersOf(pipelines: number): number[][] {
  const all = Array.from({ length: pipelines }, (_, k) => k);
  if (pipelines > 3) return all.slice(0, MOST_ORDERS).map((k) => [...all.slice(k), ...all.slice(0, k)]);
  const permuted = (left: readonly number[]): number[][] =>
    left.length === 0
      ? [[]]
      : left.flatMap((k) => permuted(left.filter((one) => one !== k)).map((rest) => [k, ...rest]));
  return permuted(all);
}
