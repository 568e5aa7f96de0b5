import { describe, expect, it } from 'vitest';
import { choiceFaults, choiceParts } from '../../src/artifacts/index.js';
import { ToldFaults } from '../../src/formats/index.js';
import { streamsOf } from '../../src/random/index.js';
import {
  chosenScheduler,
  DEFAULT_POLICY,
  Decisions,
  FIFO_POLICY,
  INFERLINE_POLICY,
  makeCore,
  PUBLISHED_POLICY,
  PUBLISHED_REACTIVE_POLICY,
  REACTIVE_POLICY,
  RESERVATION_POLICY,
  ReservationCore,
  type SchedulerOptions,
  StageLocalCore,
  topologyRulesOf,
} from '../../src/serving/index.js';
import { chainOf, stage } from './by-hand.js';

/** The choice that was made, of `reservation` where no scheduler is named, or the message with all faults. */
function choose(options: SchedulerOptions) {
  const told = new ToldFaults();
  const chosen = chosenScheduler({ ...options, scheduler: options.scheduler ?? 'reservation' }, told);
  return { chosen, wrong: told.count === 0 ? undefined : told.error('simulate').message };
}

/** The policy of the stage-local scheduler with these choices, which must be right. */
function policyWith(...policy: string[]) {
  const { chosen, wrong } = choose({ scheduler: 'stage-local', policy });
  expect(wrong).toBeUndefined();
  return chosen?.policy;
}

/** The faults of these choices. */
const wrongWith = (scheduler: string, ...policy: string[]) => choose({ scheduler, policy }).wrong;

describe('chosenScheduler()', () => {
  it('gives the scheduler named, with its own policy', () => {
    for (const [scheduler, policy] of Object.entries({
      reservation: RESERVATION_POLICY,
      reactive: REACTIVE_POLICY,
      'stage-local': DEFAULT_POLICY,
      fifo: FIFO_POLICY,
      inferline: INFERLINE_POLICY,
    }))
      expect(choose({ scheduler }).chosen).toStrictEqual({ name: scheduler, policy });
  });

  it('gives the preset named, and its rules for the topology', () => {
    for (const [scheduler, policy] of Object.entries({
      reservation: PUBLISHED_POLICY,
      reactive: PUBLISHED_REACTIVE_POLICY,
    })) {
      const { chosen } = choose({ scheduler, preset: 'published' });
      expect(chosen).toEqual({ name: scheduler, preset: 'published', policy });
      expect(topologyRulesOf(chosen!)).toBe('published');
    }
    expect(topologyRulesOf(choose({}).chosen!)).toBe('own');
  });

  it('lists the valid names where a scheduler or preset is not known', () => {
    expect(choose({ scheduler: 'best' })).toMatchObject({ chosen: undefined });
    expect(choose({ scheduler: 'best' }).wrong).toMatch(
      /`scheduler`: is "best".*reservation, reactive, stage-local, fifo/,
    );
    expect(choose({ scheduler: 'constructor' }).chosen).toBeUndefined();
    expect(choose({ preset: 'best' })).toMatchObject({ chosen: undefined });
    expect(choose({ preset: 'best' }).wrong).toMatch(/`preset`: is "best".*reservation.*published/);
    expect(choose({ preset: 'constructor' }).chosen).toBeUndefined();
    expect(choose({ scheduler: 'fifo', preset: 'published' }).wrong).toMatch(/fifo.*no presets/);
  });

  it('leaves the policies that it starts from unchanged', () => {
    policyWith('drop=never', 'slackNs=7', 'late.window=3');
    expect(choose({ scheduler: 'stage-local' }).chosen?.policy).toEqual(DEFAULT_POLICY);
  });

  it('accepts numbers, whole numbers, and words', () => {
    expect(policyWith('slackNs=1000', 'mostTries=0', 'placement=earliest-free', 'instant=by-place')).toEqual({
      ...DEFAULT_POLICY,
      slackNs: 1000,
      mostTries: 0,
      placement: 'earliest-free',
      instant: 'by-place',
    });
    for (const value of ['x', ' ', 'Infinity', 'NaN', '0.5'])
      expect(wrongWith('stage-local', `slackNs=${value}`)).toMatch(/slackNs=.*it must be a whole number/);
    expect(wrongWith('stage-local', 'slackNs=9007199254740993')).toContain(
      '"slackNs=9007199254740993": has 9007199254740993; whole numbers beyond 9007199254740991 (2^53 - 1)',
    );
    expect(wrongWith('stage-local', 'slackNs=1e17')).toContain('whole numbers beyond 9007199254740991');
    expect(wrongWith('stage-local', 'slackNs=-1')).toContain('"slackNs=-1": is -1; it must be at least 0');
  });

  it('accepts only true and false where that is the choice', () => {
    const policyOf = (value: string) => choose({ policy: [`askOthers=${value}`] });
    expect(policyOf('false').chosen?.policy).toEqual({ ...RESERVATION_POLICY, askOthers: false });
    expect(choose({ preset: 'published', policy: ['askOthers=true'] }).chosen?.policy).toEqual({
      ...PUBLISHED_POLICY,
      askOthers: true,
    });
    for (const value of ['yes', '1', 'True'])
      expect(policyOf(value).wrong).toContain('it must be true or false');
  });

  it('accepts a kind, and keeps the numbers of the previous kind that both have', () => {
    // Here a share of 1 is carried over from full-batch, and spares must be given.
    expect(policyWith('drop=queueing', 'drop.spares=last-waited')).toMatchObject({
      drop: { kind: 'queueing', share: 1, spares: 'last-waited' },
    });
    expect(policyWith('drop=hopeless')).toEqual({ ...DEFAULT_POLICY, drop: { kind: 'hopeless' } });
    expect(policyWith('drop=hopeless', 'drop=full-batch', 'drop.share=0.5')).toMatchObject({
      drop: { kind: 'full-batch', share: 0.5 },
    });
    expect(policyWith('correction=steps', 'correction.deviations=2')).toMatchObject({
      correction: { kind: 'steps', weight: 0.1, deviations: 2 },
    });
  });

  it('asks for every number that a kind needs and that is missing', () => {
    expect(wrongWith('stage-local', 'formation=last-moment')).toContain(
      'formation.leaves=… and formation.stepNs=… is needed',
    );
    expect(wrongWith('stage-local', 'drop=queueing')).toMatch(/drop: drop\.spares=… is needed/);
    expect(wrongWith('stage-local', 'formation=last-moment', 'formation.leaves=nothing')).toMatch(
      /: formation\.stepNs=… is needed/,
    );
  });

  it('accepts the numbers of a kind, and shares up to 1', () => {
    expect(policyWith('late.patience=9.5', 'late.mostMissed=1', 'late.window=1000')).toMatchObject({
      late: { kind: 'background', patience: 9.5, mostMissed: 1, window: 1000 },
    });
    for (const key of ['late.mostMissed', 'drop.share', 'correction.weight'])
      expect(wrongWith('stage-local', `${key}=1.01`)).toContain('is 1.01; it must be at most 1');
    expect(wrongWith('reservation', 'firstSight.share=1.01')).toContain('is 1.01; it must be at most 1');
    expect(wrongWith('stage-local', 'late.window=-1')).toContain('is -1; it must be at least 0');
    expect(wrongWith('stage-local', 'late.window=Infinity')).toContain('is "Infinity"; it must be a number');
    expect(wrongWith('reactive', 'formation.stepNs=0.5')).toContain('is 0.5; it must be a whole number');
    expect(wrongWith('reactive', 'formation.stepNs=5')).toBeUndefined();
    // Parts that are neither shares nor times may be any number.
    expect(wrongWith('reactive', 'correction.deviations=2.5')).toBeUndefined();
  });

  it('accepts the words of a kind', () => {
    expect(
      choose({ scheduler: 'reactive', policy: ['formation.leaves=nothing'] }).chosen?.policy,
    ).toMatchObject({ formation: { kind: 'last-moment', leaves: 'nothing', stepNs: 1 } });
    expect(wrongWith('reactive', 'formation.leaves=all')).toContain('valid values are "transfer", "nothing"');
    expect(wrongWith('reactive', 'drop.spares=1')).toContain('valid values are "all-waited", "last-waited"');
  });

  it('lists the values that a choice accepts where it is given another', () => {
    expect(wrongWith('stage-local', 'drop.spares=all-waited')).toContain('drop=full-batch takes share');
    expect(wrongWith('stage-local', 'order.share=1')).toContain('order=deadline takes nothing more');
    expect(wrongWith('stage-local', 'slackNs.share=1')).toContain('slackNs takes nothing more');
    expect(wrongWith('stage-local', 'placement.share=1')).toContain('placement takes nothing more');
    expect(wrongWith('stage-local', 'placement=best')).toContain('there are on-arrival, earliest-free');
    expect(wrongWith('stage-local', 'drop=constructor')).toContain('there is no constructor');
    expect(wrongWith('stage-local', 'drops=never')).toContain(
      'there is no drops; there are order, placement',
    );
    expect(wrongWith('stage-local', 'constructor=never')).toContain(
      'there is no constructor; there are order',
    );
  });

  it('guesses which choice, kind or part a slip of the pen meant', () => {
    expect(wrongWith('stage-local', 'drops=never')).toMatch(/; did you mean drop\?$/);
    expect(wrongWith('stage-local', 'drop=hopless')).toMatch(/; did you mean hopeless\?$/);
    expect(wrongWith('stage-local', 'drop.shares=1')).toMatch(/; did you mean share\?$/);
    expect(choose({ scheduler: 'stage_local' }).wrong).toMatch(/; did you mean stage-local\?$/);
    expect(wrongWith('stage-local', 'speed=2')).not.toContain('did you mean');
  });

  it('applies the choices of a file, and later ones over them, with faults at their place in it', () => {
    const file = (choices: object) => ({ at: 'p.yaml ', choices: choices as Record<string, unknown> });
    const policyOf = (...policy: (string | ReturnType<typeof file>)[]) =>
      choose({ scheduler: 'stage-local', policy }).chosen?.policy;
    expect(
      policyOf(
        'order=fifo',
        'late.window=3',
        file({ order: 'deadline', drop: { kind: 'queueing', share: 0.5, spares: 'all-waited' }, slackNs: 5 }),
        'drop.share=0.25',
      ),
    ).toEqual({
      ...DEFAULT_POLICY,
      drop: { kind: 'queueing', share: 0.25, spares: 'all-waited' },
      late: { kind: 'background', patience: 4, mostMissed: 0.25, window: 3 },
      slackNs: 5,
    });
    const wrong = choose({
      scheduler: 'reservation',
      policy: [file({ correction: { kind: 'steps', weight: 1, deviations: 1 }, drop: 'never' })],
    }).wrong;
    expect(wrong).toContain('p.yaml /drop: there is no drop; there are tables');
    expect(wrong).toContain('p.yaml /correction/kind: is "steps"; valid values are none, average');
    const part = choose({ scheduler: 'fifo', policy: [file({ drop: { kind: 'full-batch', share: 2 } })] });
    expect(part.wrong).toContain('p.yaml /drop/share: is 2; it must be at most 1');
  });

  it('accepts and refuses whatever the schema of policy files does', () => {
    const values = [
      'never',
      'full-batch',
      'average',
      'none',
      0,
      0.5,
      1,
      2,
      true,
      {},
      'deadline',
      'gaps',
      'drop',
    ];
    for (const [scheduler, family] of [
      ['stage-local', 'stage-local'],
      ['reservation', 'reservation'],
    ] as const) {
      for (const key of choiceParts(family).keys())
        for (const value of values) {
          const choices = { [key]: value };
          const { wrong } = choose({ scheduler, policy: [{ at: '', choices }] });
          const isValid = choiceFaults(family, choices).length === 0;
          // A kind that takes parts may keep those of the kind before, which a file has to give.
          const keeps =
            wrong === undefined && (choiceParts(family).get(key)?.get(`${value}`) ?? []).length > 0;
          expect([key, value, wrong === undefined]).toEqual([key, value, isValid || keeps]);
        }
    }
  });

  it('demands key=value', () => {
    for (const text of ['drop', 'drop=', '=never', 'drop never', '1=2', 'a.b.c=1', ''])
      expect([text, wrongWith('stage-local', text)]).toEqual([
        text,
        expect.stringContaining(`\`policy\` "${text}": is not key=value`),
      ]);
  });

  it('reports all faults at once, each with the faulty text', () => {
    const wrong = wrongWith('stage-local', 'drop=x', 'slackNs=y', 'drop=nearly-full');
    expect(wrong).toContain('`policy` "drop=x"');
    expect(wrong).toContain('`policy` "slackNs=y"');
    expect(wrong).toContain('`policy` drop: drop.spares');
  });
});

describe('makeCore()', () => {
  it('makes the core of a scheduler, with the tables that its policy names', () => {
    const topology = chainOf(100, stage([10]));
    const handed = () => ({ decisions: new Decisions(), streams: streamsOf(1, 'core') });
    const made = (options: SchedulerOptions) => makeCore(choose(options).chosen!, topology, handed());
    for (const scheduler of ['reactive', 'stage-local', 'fifo'])
      expect(made({ scheduler })).toBeInstanceOf(StageLocalCore);
    for (const options of [{}, { preset: 'published' }, { policy: ['tables=busy-until'] }])
      expect(made(options)).toBeInstanceOf(ReservationCore);
    // A core refuses tables that its policy does not name.
    expect(() => new ReservationCore(topology, new Decisions(), { tables: 'busy-until' })).toThrow(
      'other tables',
    );
  });
});
