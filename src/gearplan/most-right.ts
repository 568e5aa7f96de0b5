import type { Levels } from './levels.js';
import type { FamilyModel } from './problem.js';

/** The cells of the first threshold of a sequence of four models that are looked at first. */
const FIRST_CELLS = 8;

/** MostRight is the most right answers of a sequence's cascades; `ranks` are the thresholds of one that has them, if found. */
export interface MostRight {
  /** No cascade of the sequence is right about more samples. */
  readonly bound: number;
  readonly ranks?: readonly number[];
}

/** Work counts what is done, and ends it. */
export interface Work {
  left: number;
}

interface Best {
  readonly right: number;
  readonly ranks: readonly number[];
}

/**
 * mostRight bounds how many samples any cascade of a sequence of up to four models is right about, over all thresholds. For
 * up to three models that is exact: as the first threshold rises, samples come to the second model one by one, and a tree
 * of sums by their certainties keeps the best second threshold. For four, the first threshold is known to a cell at a time,
 * and a sample whose way is open there counts as right where any way is; cells are halved until none may have more than
 * `known`, or the work is done.
 */
export class MostRightSearch {
  private readonly trees: readonly MaxPrefix[];

  constructor(
    private readonly family: readonly FamilyModel[],
    private readonly levels: readonly Levels[],
  ) {
    this.trees = levels.map(({ values }) => new MaxPrefix(values.length - 1));
  }

  /** @param known how many some cascade is right about: only more than that is searched for */
  of(models: readonly number[], known: number, work: Work): MostRight {
    if (models.length === 4) return this.ofFour(models, known, work);
    const all = new Uint8Array(this.samples).fill(1);
    work.left -= this.samples;
    const best = models.length === 3 ? this.overTwo(models, all) : this.overOne(models, all);
    return { bound: Math.max(known, best.right), ...(best.right > known ? { ranks: best.ranks } : {}) };
  }

  private get samples(): number {
    return (this.family[0] as FamilyModel).correct.length;
  }

  private correct(model: number | undefined): Uint8Array {
    return (this.family[model as number] as FamilyModel).correct;
  }

  private levelsOf(model: number | undefined): Levels {
    return this.levels[model as number] as Levels;
  }

  /** overOne finds the best threshold of a sequence of one or two models, for some of the samples. */
  private overOne([first, second]: readonly number[], among: Uint8Array): Best {
    const stay = this.correct(first);
    let right = 0;
    for (let sample = 0; sample < among.length; sample++)
      if (among[sample] === 1) right += stay[sample] as number;
    if (second === undefined) return { right, ranks: [] };
    const go = this.correct(second);
    const { order, ranks } = this.levelsOf(first);
    let best: Best = { right, ranks: [] };
    for (let i = 0; i < order.length; i++) {
      const sample = order[i] as number;
      if (among[sample] === 1) right += (go[sample] as number) - (stay[sample] as number);
      const rank = ranks[sample] as number;
      const following = order[i + 1];
      if (following === undefined || ranks[following] === rank) continue;
      if (right > best.right) best = { right, ranks: [rank + 1] };
    }
    return best;
  }

  /** overTwo finds the best thresholds of a sequence of three models, for some of the samples. */
  private overTwo(models: readonly number[], among: Uint8Array): Best {
    const [first, second, third] = models;
    const [one, two, three] = [this.correct(first), this.correct(second), this.correct(third)];
    const { order, ranks } = this.levelsOf(first);
    const next = this.levelsOf(second).ranks;
    const tree = this.trees[second as number] as MaxPrefix;
    tree.clear();
    let base = 0;
    for (let sample = 0; sample < among.length; sample++)
      if (among[sample] === 1) base += one[sample] as number;
    let best: Best = { right: base, ranks: [] };
    for (let i = 0; i < order.length; i++) {
      const sample = order[i] as number;
      if (among[sample] === 1) {
        base += (two[sample] as number) - (one[sample] as number);
        tree.add(next[sample] as number, (three[sample] as number) - (two[sample] as number));
      }
      const rank = ranks[sample] as number;
      const following = order[i + 1];
      if (following === undefined || ranks[following] === rank) continue;
      if (base + tree.most <= best.right) continue;
      const then = tree.mostAt();
      best = { right: base + tree.most, ranks: then === 0 ? [rank + 1] : [rank + 1, then] };
    }
    return best;
  }

  private ofFour(models: readonly number[], known: number, work: Work): MostRight {
    const last = this.levelsOf(models[0]).values.length - 1;
    const cells = new CellHeap();
    const step = Math.max(1, Math.ceil(last / FIRST_CELLS));
    for (let low = 1; low <= last; low += step)
      cells.push(this.cell(models, low, Math.min(last, low + step - 1)));
    work.left -= FIRST_CELLS * this.samples;
    let found: Best | undefined;
    let most = known;
    for (;;) {
      const cell = cells.pop();
      if (cell === undefined || cell.right <= most)
        return { bound: most, ...(found === undefined ? {} : { ranks: found.ranks }) };
      if (cell.low === cell.high) {
        most = cell.right;
        found = { right: cell.right, ranks: [cell.low, ...cell.ranks] };
        continue;
      }
      if (work.left <= 0)
        return { bound: cell.right, ...(found === undefined ? {} : { ranks: found.ranks }) };
      const middle = (cell.low + cell.high) >>> 1;
      cells.push(this.cell(models, cell.low, middle));
      cells.push(this.cell(models, middle + 1, cell.high));
      work.left -= 2 * this.samples;
    }
  }

  /** cell bounds what is right where the first threshold is among some ranks. */
  private cell([first, ...later]: readonly number[], low: number, high: number): Cell {
    const { ranks } = this.levelsOf(first);
    const correct = this.correct(first);
    const goes = new Uint8Array(this.samples);
    let stays = 0;
    for (let sample = 0; sample < goes.length; sample++) {
      const rank = ranks[sample] as number;
      const isRight = correct[sample] === 1;
      // A sample that is open counts as right where the first model is right, and goes on where it is not.
      if (rank < low || (rank < high && !isRight)) goes[sample] = 1;
      else if (isRight) stays += 1;
    }
    const best = this.overTwo(later, goes);
    return { low, high, right: stays + best.right, ranks: best.ranks };
  }
}

interface Cell extends Best {
  readonly low: number;
  readonly high: number;
}

/** CellHeap gives the cell that may be right most often. */
class CellHeap {
  private readonly cells: Cell[] = [];

  push(cell: Cell): void {
    const { cells } = this;
    let at = cells.push(cell) - 1;
    for (; at > 0; at = (at - 1) >>> 1) {
      const above = cells[(at - 1) >>> 1] as Cell;
      if (above.right >= cell.right) break;
      cells[at] = above;
    }
    cells[at] = cell;
  }

  pop(): Cell | undefined {
    const { cells } = this;
    const first = cells[0];
    const last = cells.pop();
    if (last === undefined || cells.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= cells.length) break;
      if (below + 1 < cells.length && (cells[below + 1] as Cell).right > (cells[below] as Cell).right)
        below++;
      if ((cells[below] as Cell).right <= last.right) break;
      cells[at] = cells[below] as Cell;
      at = below;
    }
    cells[at] = last;
    return first;
  }
}

/** MaxPrefix keeps numbers at places, and the largest sum of those before some place: that of none is 0. */
class MaxPrefix {
  private readonly leaves: number;
  private readonly sums: Int32Array;
  private readonly bests: Int32Array;

  constructor(private readonly places: number) {
    let leaves = 1;
    while (leaves < places) leaves *= 2;
    this.leaves = leaves;
    this.sums = new Int32Array(2 * leaves);
    this.bests = new Int32Array(2 * leaves);
  }

  clear(): void {
    this.sums.fill(0);
    this.bests.fill(0);
  }

  get most(): number {
    return this.bests[1] as number;
  }

  /** add adds to the number at a place; places beyond the last are no threshold's, and count nothing. */
  add(place: number, value: number): void {
    if (value === 0 || place >= this.places) return;
    const { sums, bests } = this;
    let node = this.leaves + place;
    sums[node]! += value;
    bests[node] = Math.max(0, sums[node] as number);
    for (node >>>= 1; node > 0; node >>>= 1) {
      const left = 2 * node;
      sums[node] = (sums[left] as number) + (sums[left + 1] as number);
      bests[node] = Math.max(bests[left] as number, (sums[left] as number) + (bests[left + 1] as number));
    }
  }

  /** mostAt is the first place before which the sum is the largest. */
  mostAt(): number {
    let before = 0;
    let node = 1;
    const most = this.most;
    if (most === 0) return 0;
    while (node < this.leaves) {
      const left = 2 * node;
      if (before + (this.bests[left] as number) === most) node = left;
      else {
        before += this.sums[left] as number;
        node = left + 1;
      }
    }
    return node - this.leaves + 1;
  }
}
