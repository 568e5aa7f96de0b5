import { describe, expect, it } from 'vitest';
import {
  hasOwnName,
  type StageOf,
  stageFields,
  stageMark,
  stageName,
  writtenStageName,
} from '../../src/formats/index.js';

const PARTITION: StageOf = { kind: 'partition', pipeline: 1, partition: 2 };
const STAGE: StageOf = { kind: 'stage', name: 'classify', index: 2 };
const COMPONENT: StageOf = { kind: 'component', name: 'llm', component: 3 };

describe('stageFields()', () => {
  it('writes a partition by its numbers, and what a plan names by the name as well', () => {
    expect(stageFields(PARTITION)).toEqual({ pipeline: 1, partition: 2 });
    expect(stageFields(STAGE)).toEqual({ pipeline: 0, partition: 2, stage: 'classify' });
    expect(stageFields(COMPONENT)).toEqual({ pipeline: 3, partition: 0, stage: 'llm' });
  });
});

describe('stageName()', () => {
  it('is the name that the plan gives, or the numbers with their nouns, and a document says the same', () => {
    const stages = [PARTITION, STAGE, COMPONENT];
    expect(stages.map(stageName)).toEqual(['pipeline1/partition2', 'classify', 'llm']);
    expect(stages.map((stage) => writtenStageName(stageFields(stage)))).toEqual(stages.map(stageName));
    expect(stages.map(hasOwnName)).toEqual([false, true, true]);
  });

  it('is short in cells of tables', () => {
    expect([PARTITION, STAGE].map((stage) => stageMark(stageFields(stage)))).toEqual(['1/2', 'classify']);
  });
});
