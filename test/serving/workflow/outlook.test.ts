import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { Outlook } from '../../../src/serving/workflow/outlook.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import { randomShape, workflowTopology } from './workflows.js';

const AT = 500;

describe('Outlook', () => {
  it('expects of a device what it does when it is stepped through, nanosecond by nanosecond', () => {
    for (let seed = 0; seed < 300; seed++) {
      const stream = streamOf(seed, 'outlook');
      const { components, ...rest } = randomShape(stream);
      const holds = rest.devices.map(({ class: own }) =>
        components.flatMap(({ latencyNs }, c) =>
          latencyNs[own] !== undefined && stream.uniform() < 0.5 ? [c] : [],
        ),
      );
      const shape = { ...rest, components, holds };
      const { topology, table } = workflowTopology(shape);
      const placeable = new Placeable(topology, table);
      const work = new PlannedWork(topology, placeable);
      const residency = new Residency(table, placeable);
      const runnable = components.map((_, c) => c).filter((c) => placeable.poolOf(0, c) !== -1);
      const batches: { component: number; rows: number; from: number }[] = [];
      for (let i = 0; i < stream.integer(6); i++) {
        const component = runnable[stream.integer(runnable.length)]!;
        const rows = 1 + stream.integer(work.largest(0, component));
        const from = AT + stream.integer(300) - 100;
        work.add(0, { component, rows, fromNs: from });
        const last = batches.findLast((batch) => batch.component === component);
        if (last !== undefined && last.rows + rows <= work.largest(0, component)) {
          last.rows += rows;
          last.from = Math.min(last.from, from);
        } else batches.push({ component, rows, from });
      }
      const busyUntil = stream.uniform() < 0.5 ? 0 : AT + stream.integer(100);
      if (busyUntil > 0) {
        const { component } = batches[0] ?? { component: runnable[0]! };
        work.add(0, { component, rows: 1, fromNs: 0 });
        work.begun(0, { component, rows: 1, untilNs: busyUntil });
        const first = batches.find((batch) => batch.component === component);
        // What was added last has joined the last batch, and what began was of the first.
        const last = batches.findLast((batch) => batch.component === component);
        if (last !== undefined && last.rows < work.largest(0, component)) {
          last.rows += 1;
          last.from = 0;
        } else batches.push({ component, rows: 1, from: 0 });
        const began = first ?? batches.at(-1)!;
        began.rows -= 1;
        if (began.rows === 0) batches.splice(batches.indexOf(began), 1);
      }

      // Step by step: one load at a time in the order of the batches, and the first batch whose component is there.
      const arrives = new Map<number, number>();
      let copied = AT;
      for (const { component } of batches) {
        if (residency.holds(0, component) || arrives.has(component)) continue;
        copied += residency.loadNs(0, component);
        arrives.set(component, copied);
      }
      const left = [...batches];
      const starts = new Map<number, { startNs: number; rows: number }>();
      let [free, idleFrom, idleTo] = [Math.max(AT, busyUntil), Number.POSITIVE_INFINITY, 0];
      for (let now = free; left.length > 0; now++) {
        if (now < free) continue;
        const next = left.findIndex(
          ({ component, from }) => Math.max(from, arrives.get(component) ?? 0) <= now,
        );
        if (next === -1) {
          if (idleTo === 0 && idleFrom === Number.POSITIVE_INFINITY) idleFrom = now;
          continue;
        }
        if (idleFrom < now && idleTo === 0) idleTo = now;
        const [batch] = left.splice(next, 1) as [(typeof batches)[number]];
        const { component, rows } = batch;
        // What comes later joins the batch that was planned last, whenever that begins.
        const isLast = batches.findLast((other) => other.component === component) === batch;
        if (isLast && rows < work.largest(0, component)) starts.set(component, { startNs: now, rows });
        free = now + work.executionNs(0, component, rows);
      }
      const view = new Outlook(work, residency, placeable).viewOf(AT, 0);
      const open = new Map(view.open.map(({ component, startNs, rows }) => [component, { startNs, rows }]));
      expect({ seed, free: view.freeNs, copied: view.copiedNs, open }).toEqual({
        seed,
        free,
        copied,
        open: starts,
      });
      expect({ seed, idle: [view.idleFromNs, view.idleToNs] }).toEqual({ seed, idle: [idleFrom, idleTo] });
    }
  });

  it('knows of devices that it has looked at how soon they end a task at least: exactly when they do', () => {
    let joined = 0;
    for (let seed = 0; seed < 500; seed++) {
      const stream = streamOf(seed, 'least');
      const { components, ...rest } = randomShape(stream);
      const holds = rest.devices.map(({ class: own }) =>
        components.flatMap(({ latencyNs }, c) => (latencyNs[own] === undefined ? [] : [c])),
      );
      // All is held, so that nothing but the work of the device decides.
      const devices = rest.devices.map((device) => ({ ...device, bytes: 10_000 }));
      const { topology, table } = workflowTopology({ ...rest, devices, components, holds });
      const placeable = new Placeable(topology, table);
      const work = new PlannedWork(topology, placeable);
      const outlook = new Outlook(work, new Residency(table, placeable), placeable);
      const runnable = components.map((_, c) => c).filter((c) => placeable.poolOf(0, c) !== -1);
      const drawn = () => runnable[stream.integer(runnable.length)]!;
      for (let i = stream.integer(5); i > 0; i--) {
        const component = drawn();
        const rows = 1 + stream.integer(work.largest(0, component));
        work.add(0, { component, rows, fromNs: AT + stream.integer(300) - 100 });
      }
      const view = outlook.viewOf(AT, 0);
      const component = drawn();
      const task = { at: AT, component, rows: 1, readyNs: AT + stream.integer(200) };
      const ends = outlook.ends({ ...task, device: 0, view });
      if (ends[0] < Math.min(ends[1], ends[2])) joined += 1;
      const least = outlook.leastEndNs(0, task, work.executionNs(0, component, 1));
      expect({ seed, least }).toEqual({ seed, least: Math.min(...ends) });
    }
    expect(joined).toBeGreaterThan(10);
  });
});
