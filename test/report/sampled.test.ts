import { describe, expect, it } from 'vitest';
import { edgeTable, measuredLines, visitTable } from '../../src/report/index.js';

const HEAD = { kind: 'pipeline-profile', version: '1.0' } as const;
const share = { share: 0.4, low: 0.312, high: 0.498 };
const samples = {
  rows: 100,
  confidence: 0.95,
  stages: [
    {
      name: 'detect',
      visits: 1000,
      independentScaleFactor: 1,
      scaleFactor: { share: 1, low: 0.9, high: 1 },
      edges: [{ ...share, to: 'face', taken: 40, of: 100, probability: 0.4 }],
    },
    {
      name: 'face',
      visits: 40,
      independentScaleFactor: 0.5,
      scaleFactor: share,
      edges: [{ ...share, to: 'name', taken: 16, of: 40, probability: 0.4, probabilityBefore: 0.6 }],
    },
  ],
};

describe('the tables of a sampled pipeline', () => {
  it('say how many samples came to each stage, with the interval and what independent verdicts would give', () => {
    expect(visitTable(samples)).toMatchObject({
      columns: ['stage', 'samples', 'scale factor', '95 % interval', 'if independent'],
      rows: [
        ['detect', '1 000', '100.0 %', '90.0 % to 100.0 %', '100.0 %'],
        ['face', '40', '40.0 %', '31.2 % to 49.8 %', '50.0 %'],
      ],
    });
  });

  it('say how often each edge was taken, and what the spec said before', () => {
    expect(edgeTable(samples).rows).toEqual([
      ['detect → face', '40', '100', '40.0 %', '31.2 % to 49.8 %', '—'],
      ['face → name', '16', '40', '40.0 %', '31.2 % to 49.8 %', '60.0 %'],
    ]);
  });

  it('name the profiles that were measured', () => {
    const profiles = [
      { path: 'a.json', measured: true },
      { path: 'b.json', measured: false },
    ];
    expect(measuredLines({ ...HEAD, name: 'p', profiles, warnings: [] })).toEqual(['profile: a.json']);
  });
});
