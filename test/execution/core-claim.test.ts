import { describe, expect, it } from 'vitest';
import { crowdedHost, type Device, hostThreads } from '../../src/execution/index.js';

const cpu = (threads: number, slowdown?: number): Device => ({
  provider: 'cpu',
  threads,
  ...(slowdown === undefined ? {} : { slowdown }),
});

describe('crowdedHost()', () => {
  it('says nothing where half a core is left for the server and its client', () => {
    expect(crowdedHost([{ device: cpu(1), count: 1 }], 2)).toBeUndefined();
    expect(crowdedHost([{ device: cpu(1), count: 3 }], 4)).toBeUndefined();
    expect(
      crowdedHost(
        [
          { device: cpu(1), count: 1 },
          { device: cpu(1, 2), count: 1 },
        ],
        2,
      ),
    ).toBeUndefined();
  });

  it('names the cores of the devices and of the host where less is left', () => {
    expect(crowdedHost([{ device: cpu(1), count: 2 }], 2)).toContain(
      "keep 2 of this host's 2 CPU cores busy",
    );
    const three = [
      { device: cpu(1), count: 1 },
      { device: cpu(2, 3), count: 1 },
    ];
    expect(crowdedHost(three, 2)).toContain("keep 1.67 of this host's 2 CPU cores busy");
  });

  it('takes a CPU without a number of threads for the whole host', () => {
    expect(crowdedHost([{ device: { provider: 'cpu' }, count: 1 }])).toContain(`keep ${hostThreads()} of`);
  });

  it('does not look at GPUs', () => {
    expect(crowdedHost([{ device: { provider: 'cuda' }, count: 9 }], 1)).toBeUndefined();
  });
});
