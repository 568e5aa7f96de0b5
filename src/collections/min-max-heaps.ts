import { grownCapacity, grownColumn } from './columns.js';

/** NO_ITEM is NONE in this module. */
const NO_ITEM = -1;

/**
 * MinMaxHeaps holds a fixed number of double-ended priority queues of integers from 0 on, each item in at most one
 * heap (the queue of PARD, section 4.3). Items are in order of the key that they were inserted with; of equal keys, the
 * one inserted first comes first. Both ends are found in constant time. Inserting an item and removing one, from the
 * middle too, take time in the logarithm of the heap's size and, except for growth, allocate nothing.
 *
 * Each heap is a binary tree in an array (Atkinson, Sack, Santoro and Strothotte, 1986). The item at the root and at
 * every second level from there precedes all below it, and at the levels between, it comes after all below it.
 * Nothing is checked: an item that is inserted twice, removed from a heap that it is not in, or inserted with a key
 * that is not a number breaks the heaps.
 */
export class MinMaxHeaps {
  private readonly trees: Int32Array[];
  private readonly sizes: Int32Array;
  /** Where each item is in the tree that holds it. */
  private positions = new Int32Array(0);
  /** The key of each item at the even places, and when it was inserted at the odd places. */
  private ranks = new Float64Array(0);
  private insertions = 0;

  constructor(heaps: number) {
    this.trees = Array.from({ length: heaps }, () => new Int32Array(0));
    this.sizes = new Int32Array(heaps);
  }

  /** count is the number of heaps, not of items. */
  get count(): number {
    return this.sizes.length;
  }

  size(heap: number): number {
    return this.sizes[heap] as number;
  }

  /** first gives the item with the least key, and NONE where the heap is empty. */
  first(heap: number): number {
    return this.size(heap) === 0 ? NO_ITEM : (this.tree(heap)[0] as number);
  }

  /** last gives the item with the greatest key, and NONE where the heap is empty. */
  last(heap: number): number {
    const size = this.size(heap);
    if (size === 0) return NO_ITEM;
    const tree = this.tree(heap);
    if (size < 3) return tree[size - 1] as number;
    const left = tree[1] as number;
    const right = tree[2] as number;
    return this.precedes(left, right) ? right : left;
  }

  insert(heap: number, item: number, key: number): void {
    if (item >= this.positions.length) this.growColumns(item + 1);
    const size = this.size(heap);
    if (size === this.tree(heap).length) this.growTree(heap, size + 1);
    this.ranks[2 * item] = key;
    this.ranks[2 * item + 1] = this.insertions++;
    this.sizes[heap] = size + 1;
    this.place(this.tree(heap), size, item);
    this.ascend(heap, size);
  }

  /** remove takes an item out of the heap that holds it. */
  remove(heap: number, item: number): void {
    const tree = this.tree(heap);
    const position = this.positions[item] as number;
    const size = this.size(heap) - 1;
    this.sizes[heap] = size;
    if (position === size) return;
    const moved = tree[size] as number;
    this.place(tree, position, moved);
    this.descend(heap, position);
    // Now only the moved item can be out of order, and only with what is above it.
    this.ascend(heap, this.positions[moved] as number);
  }

  /**
   * takeAll empties a heap.
   * @returns its items in order
   */
  takeAll(heap: number): number[] {
    const items = Array.from(this.tree(heap).subarray(0, this.size(heap)));
    this.sizes[heap] = 0;
    return items.sort((a, b) => (this.precedes(a, b) ? -1 : 1));
  }

  /** ascend moves an item up from a position below which all is in order, until all is in order above it too. */
  private ascend(heap: number, from: number): void {
    if (from === 0) return;
    const tree = this.tree(heap);
    const item = tree[from] as number;
    let position = from;
    let least = isLeastLevel(position);
    const parent = (position - 1) >> 1;
    if (this.precedes(tree[parent] as number, item) === least) {
      this.place(tree, position, tree[parent] as number);
      position = parent;
      least = !least;
    }
    while (position > 2) {
      const grandparent = (position - 3) >> 2;
      if (this.precedes(item, tree[grandparent] as number) !== least) break;
      this.place(tree, position, tree[grandparent] as number);
      position = grandparent;
    }
    this.place(tree, position, item);
  }

  /**
   * descend moves an item down, over every second level, until nothing below it ought to be above it. On its way it
   * may have passed an item of the levels between that it ought to be above; then it has nothing below it.
   */
  private descend(heap: number, from: number): void {
    const tree = this.tree(heap);
    const size = this.size(heap);
    const item = tree[from] as number;
    const least = isLeastLevel(from);
    let position = from;
    for (;;) {
      const best = this.outermostBelow(tree, position, size, least);
      if (best === NO_ITEM || this.precedes(tree[best] as number, item) !== least) break;
      this.place(tree, position, tree[best] as number);
      position = best;
    }
    this.place(tree, position, item);
  }

  /**
   * outermostBelow gives the position of the child or grandchild that precedes the others (that comes after the others
   * if not `least`), and NONE where there are no children. It gives a child only where that has no children itself.
   */
  private outermostBelow(tree: Int32Array, position: number, size: number, least: boolean): number {
    const child = 2 * position + 1;
    if (child >= size) return NO_ITEM;
    let best = child;
    if (child + 1 < size && this.precedes(tree[child + 1] as number, tree[best] as number) === least)
      best = child + 1;
    const end = Math.min(4 * position + 7, size);
    for (let grandchild = 4 * position + 3; grandchild < end; grandchild++)
      if (this.precedes(tree[grandchild] as number, tree[best] as number) === least) best = grandchild;
    return best;
  }

  /** precedes says which of two different items comes first. No two are equal, so exactly one precedes the other. */
  private precedes(a: number, b: number): boolean {
    const { ranks } = this;
    const keyOfA = ranks[2 * a] as number;
    const keyOfB = ranks[2 * b] as number;
    if (keyOfA !== keyOfB) return keyOfA < keyOfB;
    return (ranks[2 * a + 1] as number) < (ranks[2 * b + 1] as number);
  }

  private place(tree: Int32Array, position: number, item: number): void {
    tree[position] = item;
    this.positions[item] = position;
  }

  private tree(heap: number): Int32Array {
    return this.trees[heap] as Int32Array;
  }

  private growTree(heap: number, length: number): void {
    const tree = this.tree(heap);
    this.trees[heap] = grownColumn(tree, grownCapacity(tree.length, length));
  }

  private growColumns(length: number): void {
    const capacity = grownCapacity(this.positions.length, length);
    this.positions = grownColumn(this.positions, capacity);
    this.ranks = grownColumn(this.ranks, 2 * capacity);
  }
}

/** isLeastLevel says whether the item at a position precedes all below it, as it does at the root. */
function isLeastLevel(position: number): boolean {
  return ((31 - Math.clz32(position + 1)) & 1) === 0;
}
