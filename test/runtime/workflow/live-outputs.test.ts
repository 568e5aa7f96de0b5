import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import type { Tensors } from '../../../src/execution/index.js';
import type { DrivenDevice } from '../../../src/runtime/workflow/driven-device.js';
import { futureOutput, type KeptOutput, outputAtFront } from '../../../src/runtime/workflow/kept-output.js';
import { LiveOutputs } from '../../../src/runtime/workflow/live-outputs.js';
import { pair } from './arithmetic.js';

interface Asked {
  readonly what: string;
  readonly resolve: (value?: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A device that does what it is asked when the test says so. */
class PatientDevice {
  generation = 1;
  readonly asked: Asked[] = [];
  readonly dropped: number[] = [];
  readonly ends: string[] = [];

  private ask(what: string): Promise<never> {
    return new Promise((resolve, reject) => {
      this.asked.push({ what, resolve: resolve as Asked['resolve'], reject });
    });
  }

  fetch = (id: number, names: readonly string[]) => this.ask(`fetch ${names} of ${id}`);
  put = (id: number) => this.ask(`put ${id}`);
  drop = (ids: readonly number[]) => void this.dropped.push(...ids);
  end = (why: string) => void this.ends.push(why);
}

const TENSORS: Tensors = { y: pair(1, 2), z: pair(3, 4) };
const ALL = ['y', 'z'];
const turn = () => new Promise((resolve) => setImmediate(resolve));

function around() {
  const devices = [new PatientDevice(), new PatientDevice()] as const;
  const moved: string[] = [];
  const lost: KeptOutput[] = [];
  const came: KeptOutput[] = [];
  const sent: string[] = [];
  const outputs = new LiveOutputs({
    devices: devices as unknown as readonly DrivenDevice[],
    moved: (fetch, _output, to) => moved.push(`${fetch} to ${to}`),
    came: (output) => came.push(output),
    lost: (output) => lost.push(output),
    sent: (from, to, bytes) => sent.push(`${bytes} from ${from} to ${to}`),
  });
  /** made gives an output that a device keeps. */
  const made = (device: number): KeptOutput => {
    const output = futureOutput();
    output.sizes = { y: 8, z: 8 };
    outputs.made(output, device, outputs.unusedId());
    return output;
  };
  return { devices, moved, lost, came, sent, outputs, made };
}

describe('LiveOutputs', () => {
  it('moves an output from a device to another, which keeps it under an id of its own', async () => {
    const { devices, moved, outputs, made } = around();
    const output = made(0);
    outputs.fetch(5, output, { from: 0, to: 1, names: ALL });
    expect(outputs.counts).toEqual({ outputs: 1, bytes: 16 });
    devices[0].asked[0]!.resolve(TENSORS);
    await turn();
    expect(devices[1].asked.map(({ what }) => what)).toEqual(['put 1']);
    expect(moved).toEqual([]);
    devices[1].asked[0]!.resolve();
    await turn();
    expect(moved).toEqual(['5 to 1']);
    expect([...output.places]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(outputs.counts).toEqual({ outputs: 2, bytes: 32 });
    outputs.forget(output);
    await turn();
    expect([devices[0].dropped, devices[1].dropped]).toEqual([[0], [1]]);
    expect(outputs.counts).toEqual({ outputs: 0, bytes: 0 });
  });

  it('drops what comes for nobody any more, and what a lost device had sent', async () => {
    const { devices, moved, outputs, made } = around();
    const [one, other] = [made(0), made(0)];
    outputs.fetch(1, one, { from: 0, to: 1, names: ALL });
    outputs.fetch(2, other, { from: 0, to: 1, names: ALL });
    for (const { resolve } of devices[0].asked) resolve(TENSORS);
    await turn();
    outputs.forget(one);
    devices[1].asked[0]!.resolve();
    await turn();
    expect(moved).toEqual(['1 to 1']);
    expect(devices[1].dropped).toEqual([2]);
    devices[0].generation += 1;
    outputs.deviceDown(0);
    devices[1].asked[1]!.resolve();
    await turn();
    expect(moved).toEqual(['1 to 1']);
    expect(devices[1].dropped).toEqual([2, 3]);
    expect([outputs.counts, outputs.moving]).toEqual([{ outputs: 0, bytes: 0 }, 0]);
  });

  it('forgets what was on its way to a device that is lost', async () => {
    const { devices, moved, outputs, made } = around();
    outputs.fetch(1, made(0), { from: 0, to: 1, names: ALL });
    devices[0].asked[0]!.resolve(TENSORS);
    await turn();
    devices[1].generation += 1;
    outputs.deviceDown(1);
    devices[1].asked[0]!.reject(new Error('it has ended'));
    await turn();
    expect([outputs.moving, moved, devices[1].ends]).toEqual([0, [], []]);
  });

  it('ends a device that is well and cannot do what it is asked, and none that has ended', async () => {
    const { devices, moved, outputs, made } = around();
    outputs.fetch(1, made(0), { from: 0, to: NONE, names: ALL });
    outputs.fetch(2, made(1), { from: 1, to: NONE, names: ALL });
    devices[0].asked[0]!.reject(new Error('no memory'));
    devices[1].asked[0]!.reject(new Error('it has ended'));
    devices[1].generation += 1;
    await turn();
    await turn();
    expect(devices[0].ends).toEqual(['no memory']);
    expect(devices[1].ends).toEqual([]);
    expect(moved).toEqual([]);
  });

  it('moves a spilled output to the front, from where it is sent on once it is there', async () => {
    const { devices, moved, outputs, made } = around();
    const output = made(0);
    outputs.spill(output, 0);
    outputs.fetch(3, output, { from: NONE, to: 1, names: ALL });
    await turn();
    expect(devices[0].asked.map(({ what }) => what)).toEqual(['fetch y,z of 0']);
    expect([devices[0].dropped, devices[1].asked]).toEqual([[0], []]);
    devices[0].asked[0]!.resolve(TENSORS);
    await turn();
    expect(output.front).toEqual(TENSORS);
    devices[1].asked[0]!.resolve();
    await turn();
    expect(moved).toEqual(['3 to 1']);
  });

  it('brings to the front what is read, and the rest of it when it is to be there whole', async () => {
    const { devices, moved, sent, outputs, made } = around();
    const output = made(0);
    outputs.fetch(3, output, { from: 0, to: NONE, names: ['y'] });
    devices[0].asked[0]!.resolve({ y: TENSORS.y });
    await turn();
    expect([moved, Object.keys(output.front)]).toEqual([['3 to -1'], ['y']]);
    outputs.spill(output, 0);
    await turn();
    expect(devices[0].asked.map(({ what }) => what)).toEqual(['fetch y of 0', 'fetch z of 0']);
    devices[0].asked[1]!.resolve({ z: TENSORS.z });
    await turn();
    expect(output.front).toEqual(TENSORS);
    expect(sent).toEqual(['8 from 0 to -1']);
  });

  it('brings tensors that are read after others, from a device that still keeps them', async () => {
    const { devices, came, lost, outputs, made } = around();
    const output = made(0);
    outputs.bring(output, ['z']);
    devices[0].asked[0]!.resolve({ z: TENSORS.z });
    await turn();
    expect([came, output.front]).toEqual([[output], { z: TENSORS.z }]);
    outputs.made(output, 1, outputs.unusedId());
    outputs.bring(output, ['y']);
    devices[0].generation += 1;
    outputs.deviceDown(0);
    devices[0].asked[1]!.reject(new Error('it has ended'));
    await turn();
    await turn();
    devices[1].asked[0]!.resolve({ y: TENSORS.y });
    await turn();
    expect([came, lost, output.front]).toEqual([[output, output], [], TENSORS]);
  });

  it('reports that a spilled output is lost once it is needed, and nothing more of what was to be sent of it', async () => {
    const { devices, moved, lost, outputs, made } = around();
    const output = made(0);
    outputs.spill(output, 0);
    devices[0].asked[0]!.reject(new Error('it has ended'));
    await turn();
    await turn();
    expect(lost).toEqual([]);
    outputs.fetch(3, output, { from: NONE, to: 1, names: ALL });
    outputs.fetch(4, output, { from: NONE, to: NONE, names: ['y'] });
    await turn();
    await turn();
    expect(lost).toEqual([output]);
    expect([moved, outputs.moving, devices[1].asked]).toEqual([[], 0, []]);
  });

  it('lets go of an output with what is on its way of it, where nobody can ask for it any more', async () => {
    const { devices, moved, outputs, made } = around();
    const output = made(0);
    outputs.fetch(1, output, { from: 0, to: 1, names: ALL });
    devices[0].asked[0]!.resolve(TENSORS);
    await turn();
    outputs.giveUp(output);
    devices[1].asked[0]!.resolve();
    await turn();
    expect([moved, outputs.moving, outputs.counts.outputs]).toEqual([[], 0, 0]);
    expect([devices[0].dropped, devices[1].dropped]).toEqual([[0], [1]]);
  });

  it('leaves an output where it lies besides when it is spilled, and asks for nothing', () => {
    const { devices, outputs, made } = around();
    const output = made(0);
    outputs.made(output, 1, outputs.unusedId());
    outputs.spill(output, 0);
    expect(devices[0].asked).toEqual([]);
    expect([...output.places.keys()]).toEqual([1]);
  });

  it('waits for what is being sent of what a client sent, whose memory may be used again then', async () => {
    const { devices, outputs } = around();
    const body = outputAtFront(TENSORS);
    expect(outputs.sentFromFront([body])).toBeUndefined();
    outputs.fetch(1, body, { from: NONE, to: 0, names: ALL });
    await turn();
    let isSent = false;
    void outputs.sentFromFront([body])!.then(() => {
      isSent = true;
    });
    expect(outputs.sentFromFront([futureOutput()])).toBeUndefined();
    await turn();
    expect(isSent).toBe(false);
    devices[0].asked[0]!.resolve();
    await turn();
    expect(isSent).toBe(true);
  });
});
