import { describe, expect, it } from 'vitest';
import { pipelineSpecFaults } from '../../src/pipeline/index.js';
import { type Asked, example, faultLines } from './example.js';

/** told gives the faults of the example after a change. */
function told(change: (asked: Asked) => void): string[] {
  const asked = example();
  change(asked);
  return faultLines(asked);
}

describe('resolveGiven()', () => {
  it('finds no fault in the example', () => {
    expect(told(() => undefined)).toEqual([]);
  });

  it('takes tuners, one at a time, and inferline where there is a load', () => {
    for (const tuner of ['none', 'coarse', 'ds2', 'by-rate'] as const)
      expect(told(({ spec }) => Object.assign(spec, { tuner }))).toEqual([]);
    const lacks = 'is inferline, which keeps the traffic within that of a sample: give a load';
    expect(told(({ spec }) => Object.assign(spec, { tuner: 'inferline' }))).toEqual([`/tuner: ${lacks}`]);
    const serving = { scheduler: 'fifo', tuner: { kind: 'inferline' } };
    expect(told(({ spec }) => Object.assign(spec, { serving }))).toEqual([`/serving/tuner: ${lacks}`]);
    expect(told(({ spec }) => Object.assign(spec, { serving, tuner: 'coarse' }))).toEqual([
      '/tuner: stands beside serving.tuner; leave one of them out',
    ]);
    const load = { arrivals: 'poisson', rps: 5 };
    expect(
      told(({ spec }) => {
        Object.assign(spec, { tuner: 'inferline', load });
        delete spec.rps;
      }),
    ).toEqual([]);
  });

  it('reports what is not fixed, and what is fixed twice', () => {
    expect(
      told(({ spec }) => {
        delete spec.stages[0]!.batch;
        delete spec.stages[0]!.replicas;
        delete spec.stages[1]!.device;
        spec.stages[2]!.devices = ['T4'];
      }),
    ).toEqual([
      '/stages/0: lacks "batch", which planner.method given needs',
      '/stages/0: lacks "replicas", which planner.method given needs',
      '/stages/1: lacks "device", which planner.method given needs',
      '/stages/2/device: is L4, which its devices leave out: T4',
    ]);
    expect(
      told(({ spec }) => {
        spec.shared = [
          { device: 'L4', stages: ['read', 'nobody'], replicas: 1 },
          { device: 'L4', stages: ['read'], replicas: 1 },
          { device: 'L4', stages: [], replicas: 1 },
        ];
      }),
    ).toEqual([
      '/shared/0/stages: names nobody, and there is no such stage',
      '/shared/1/stages: names read, which shares devices already',
      '/shared/2/stages: names no stage',
      '/stages/1/device: is given by the shared devices of the stage; leave it out',
      '/stages/1/replicas: is given by the shared devices of the stage; leave it out',
    ]);
  });

  it('reports classes, virtual sizes and batches that cluster or profile lack', () => {
    expect(
      told(({ spec, files }) => {
        Object.assign(spec.stages[0]!, { device: 'A100' });
        Object.assign(spec.stages[1]!, { batch: 3 });
        Object.assign(spec.stages[2]!, { virtual: 4, devices: ['L4', 'B200'] });
        delete files.profiles[3]!.profile.devices.T4;
        files.cluster.devices.L4!.taken = 5;
      }),
    ).toEqual([
      '/cluster/devices/L4/taken: 5 GPUs are taken and there are 4',
      '/stages/0/device: is A100, which is no class of the cluster; it has L4, T4',
      '/stages/2/device: divides L4 into 4; the cluster allows 1, 2',
      '/stages/0/device: is A100, which the profile detector.json lacks; it has L4, T4',
      '/stages/1/batch: is 3, of which reader.json has no latency on L4; it has those of 1, 4',
      '/stages/2/devices: is B200, which is no class of the cluster; it has L4, T4',
      '/stages/2/device: divides L4 into 4, which embedder.json lacks',
      '/stages/3/device: is T4, which the profile merger.json lacks; it has L4',
    ]);
    expect(
      told(({ files }) => {
        files.profiles[0]!.profile.devices.L4!.blockLatencyUs['1']!['4'] = [null];
      }),
    ).toEqual(['/stages/0/batch: is 4, of which detector.json has no latency on L4; it has those of 1']);
  });

  it('reports conditions that cannot be read', () => {
    const when = (more: object, output = 'score') =>
      told(({ spec }) => {
        spec.stages[0]!.next = [
          { to: 'read', probability: 0.25, when: { output, ...more } },
          { to: 'face', probability: 0.75 },
        ];
      });
    expect(when({ below: 0.5 })).toEqual([]);
    expect(when({})).toEqual(['/stages/0/next/0/when: needs either atLeast or below']);
    expect(when({ below: 1, atLeast: 0 })).toEqual(['/stages/0/next/0/when: needs either atLeast or below']);
    expect(when({ below: 1 }, 'colour')).toEqual([
      '/stages/0/next/0/when: reads colour, which is no output of the model; it has crop, boxes, score',
    ]);
    expect(when({ below: 1 }, 'boxes')).toEqual([
      '/stages/0/next/0/when: reads boxes, which has 4 elements in a row; say which with index',
    ]);
    expect(when({ below: 1, index: 3 }, 'boxes')).toEqual([]);
    expect(when({ below: 1, index: 4 }, 'boxes')).toEqual([
      '/stages/0/next/0/when/index: is 4; boxes has 4 elements in a row, from 0',
    ]);
  });

  it('reports conditions without a probability, and exclusive edges of which only some have one', () => {
    expect(
      told(({ spec }) => {
        delete spec.exclusive;
        spec.stages[3]!.inputs = { boxes: 'detect.boxes', found: ['read.found', 'face.found'] };
        spec.stages[0]!.next = [{ to: 'read', when: { output: 'score', below: 0.5 } }, 'face'];
      }),
    ).toEqual(['/stages/0/next/0: has a condition, and needs the probability by which it is planned']);
    expect(
      told(({ spec }) => {
        spec.stages[0]!.next = [
          { to: 'read', probability: 0.25 },
          { to: 'face', probability: 0.75, when: { output: 'score', below: 0.5 } },
        ];
      }),
    ).toEqual(['/stages/0/next/0: needs a condition, as other edges of its exclusive list have']);
  });

  it('refuses a rate beside a load, and a variation of other than gamma arrivals', () => {
    expect(
      told(({ spec }) => {
        spec.load = { arrivals: 'poisson', rps: 3, cv: 2 };
      }),
    ).toEqual([
      '/rps: stands beside a load, which has a rate of its own; leave one of them out',
      '/load/cv: is for gamma arrivals, and these are poisson',
    ]);
  });

  it('reports faults of every sort at once', () => {
    const all = told(({ spec, files }) => {
      spec.stages[3]!.next = ['read', 'nowhere'];
      spec.stages[0]!.next = [
        { to: 'read', probability: 1.5 },
        { to: 'face', probability: 0.75 },
      ];
      files.profiles[2]!.profile.model.inputs![0]!.dtype = 'int8';
      spec.stages[2]!.batch = 2;
    });
    const places = [
      'form a cycle: read -> merge -> read',
      'leads to nowhere',
      'is 1.5',
      'does not fit detect.crop',
      'is 2, of which',
    ];
    for (const place of places) expect(all.join('\n')).toContain(place);
    expect(all.join('\n')).not.toContain('is given by none');
  });
});

describe('what cannot be planned in time or memory', () => {
  it('is refused before it is looked at: many stages, large batches, and small virtual GPUs', () => {
    const many = told(({ spec }) => {
      const [stage] = spec.stages;
      spec.stages = Array.from({ length: 1e5 }, (_, i) => ({
        ...stage!,
        name: `s${i}`,
        next: [`s${i + 1}`],
      }));
    });
    expect(many).toEqual(['/stages: has 100000 stages; give at most 64']);
    const large = told(({ spec, files }) => {
      Object.assign(spec.stages[0]!, { batch: 1e9 });
      files.profiles[0]!.profile.devices.L4!.blockLatencyUs['1']![1e9] = [1];
      Object.assign(spec.stages[1]!, { virtual: 1e9 });
      files.cluster.devices.L4!.virtual = [1, 1e9];
      files.profiles[1]!.profile.devices.L4!.blockLatencyUs[1e9] = { '4': [1] };
    });
    expect(large).toEqual([
      '/stages/1/device: divides L4 into 1000000000; give at most 1000',
      '/stages/0/batch: is 1000000000; give at most 65536',
    ]);
  });
});

describe('pipelineSpecFaults()', () => {
  it('reports what a spec alone shows', () => {
    const { spec } = example();
    spec.stages[3]!.name = 'face';
    expect(pipelineSpecFaults(spec).map(({ path }) => path)).toContain('/stages/3/name');
  });
});
