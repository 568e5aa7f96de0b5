import { expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { countedCluster, linkGbps } from '../../src/formats/index.js';

const OPEN = 'devices: { L4: { count: 0 }, T4: {}, K80: { hourlyCost: 1 } }\nactivationDelayMs: 5000\n';

it('a cluster file may leave out counts, and planners that need them name every class without one', () => {
  const { value } = parseArtifact(OPEN, 'cluster.yaml', ['cluster']);
  expect(value.devices.T4).toEqual({});
  expect(() => countedCluster(value, 'cluster.yaml')).toThrow(
    /Cannot read cluster\.yaml:\n.*\/devices\/T4: lacks "count"\n.*\/devices\/K80: lacks "count"/,
  );
  delete value.devices.T4;
  delete value.devices.K80;
  expect(countedCluster(value, 'cluster.yaml')).toEqual(value);
});

it('a pooled spec may not leave out counts', () => {
  const spec = `kind: pooled\nmodels: [{ profile: p.json, sloMs: 1 }]\ncluster:\n  devices: { T4: {} }\n`;
  expect(() => parseArtifact(spec, 'spec.yaml', ['pooled'])).toThrow('/cluster/devices/T4: lacks "count"');
});

it('the link between two classes is the slower of both, and one whose rate nobody knows holds nothing up', () => {
  const devices = { L4: { count: 1, linkGbps: 25 }, T4: { count: 1, linkGbps: 10 }, K80: { count: 1 } };
  const between = (networkGbps?: number) =>
    (['L4 T4', 'T4 L4', 'L4 K80', 'K80 L4', 'K80 K80'] as const).map((classes) =>
      linkGbps(
        { devices, ...(networkGbps === undefined ? {} : { networkGbps }) },
        classes.split(' ') as [string, string],
      ),
    );
  expect(between()).toEqual([10, 10, 25, 25, undefined]);
  expect(between(1)).toEqual([10, 10, 1, 1, 1]);
});
