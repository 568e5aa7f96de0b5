import * as w from './writer.js';

/** RowModel is a graph of x[batch, 8] whose batch is a symbol. */
export interface RowModel {
  readonly nodes: readonly Uint8Array[];
  readonly initializers?: readonly Uint8Array[];
  /** The names of its outputs; `y` by default. */
  readonly outputs?: readonly string[];
  readonly functions?: readonly Uint8Array[];
}

export const FEATURES = 8;

export function rowModel(
  { nodes, initializers = [], outputs = ['y'], functions = [] }: RowModel,
  batch: number | string = 'n',
) {
  const graph = w.graph({
    nodes,
    initializers,
    inputs: [w.value('x', w.FLOAT, [batch, FEATURES])],
    outputs: outputs.map((name) => w.message([1, name])),
  });
  return w.model(graph, { opsets: { '': 17, local: 1 }, functions });
}

const { attribute } = w;
const named = (name: string, ...attributes: Uint8Array[]) => ({ name, attributes });
const toFloat = attribute.int('to', w.FLOAT);
const toInt = attribute.int('to', w.INT64);
const body = (nodes: readonly Uint8Array[], inputs: readonly Uint8Array[], outputs: readonly string[]) =>
  w.graph({ nodes, inputs, outputs: outputs.map((name) => w.message([1, name])) });
const either = (condition: string, output: string) =>
  w.node(
    'If',
    [condition],
    [output],
    named(
      'gate',
      attribute.graph('then_branch', body([w.node('Neg', ['x'], ['taken'])], [], ['taken'])),
      attribute.graph('else_branch', body([w.node('Abs', ['x'], ['other'])], [], ['other'])),
    ),
  );
const number = (name: string, value: number) => w.floats(name, [], [value]);
const all = [attribute.int('keepdims', 0)];

/** LIST gives the values of all rows that pass a threshold, in one list. */
const LIST: RowModel = {
  nodes: [
    w.node('Sigmoid', ['x'], ['scores']),
    w.node('Greater', ['scores', 'sure'], ['kept']),
    w.node('NonZero', ['kept'], ['columns'], { name: 'which' }),
    w.node('Transpose', ['columns'], ['places']),
    w.node('GatherND', ['scores', 'places'], ['list']),
  ],
  initializers: [number('sure', 0.9)],
  outputs: ['list'],
};

/**
 * looksUp gives y[n, 8] from a table of 8 numbers, at the places `offset` - ceil(x). It runs where x is above `offset` - 8
 * everywhere: with 8, on no zeros.
 */
export function looksUp(offset: number): RowModel {
  return {
    nodes: [
      w.node('Ceil', ['x'], ['whole']),
      w.node('Sub', ['offset', 'whole'], ['place']),
      w.node('Cast', ['place'], ['places'], { attributes: [toInt] }),
      w.node('Gather', ['table', 'places'], ['y']),
    ],
    initializers: [number('offset', offset), w.floats('table', [8], [0, 1, 2, 3, 4, 5, 6, 7])],
  };
}

/** Loop until no value of the whole batch is large. */
const HALVED: RowModel = {
  nodes: [
    w.node(
      'Loop',
      ['most', 'yes', 'x'],
      ['y'],
      named(
        'halve',
        attribute.graph(
          'body',
          body(
            [
              w.node('Mul', ['value', 'half'], ['next']),
              w.node('ReduceMax', ['next'], ['peak'], { attributes: all }),
              w.node('Greater', ['peak', 'two'], ['again']),
            ],
            [w.value('turn', w.INT64, []), w.value('go', w.BOOL, []), w.value('value', w.FLOAT)],
            ['again', 'next'],
          ),
        ),
      ),
    ),
  ],
  initializers: [
    w.int64s('most', [], [20]),
    w.message([2, w.BOOL], [8, 'yes'], [9, Uint8Array.of(1)]),
    number('half', 0.5),
    number('two', 2),
  ],
};

/** Scan over the rows, carrying the largest from one to the next. */
const CARRIED: RowModel = {
  nodes: [
    w.node(
      'Scan',
      ['least', 'x'],
      ['last', 'y'],
      named(
        'carry',
        attribute.int('num_scan_inputs', 1),
        attribute.graph(
          'body',
          body(
            [w.node('Max', ['state', 'row'], ['next']), w.node('Identity', ['next'], ['out'])],
            [w.value('state', w.FLOAT, [FEATURES]), w.value('row', w.FLOAT, [FEATURES])],
            ['next', 'out'],
          ),
        ),
      ),
    ),
  ],
  initializers: [w.floats('least', [FEATURES], new Array<number>(FEATURES).fill(2))],
};

/** A row with a large first value is replaced by the row before it. */
const STOLEN: RowModel = {
  nodes: [
    w.node('Shape', ['x'], ['sizes']),
    w.node('Gather', ['sizes', 'nought'], ['rows']),
    w.node('Range', ['nought', 'rows', 'one'], ['numbers']),
    w.node('Gather', ['x', 'nought'], ['firsts'], { attributes: [attribute.int('axis', 1)] }),
    w.node('Greater', ['firsts', 'three'], ['large']),
    w.node('Cast', ['large'], ['back'], { attributes: [toInt] }),
    w.node('Sub', ['numbers', 'back'], ['from']),
    w.node('Max', ['from', 'nought'], ['places']),
    w.node('Gather', ['x', 'places'], ['y'], { name: 'steal' }),
  ],
  initializers: [w.int64s('nought', [], [0]), w.int64s('one', [], [1]), number('three', 3)],
};

/** What no rule follows here gives zeros for any values but such as nothing tries. */
const SILENT: RowModel = {
  nodes: [
    w.node('Greater', ['x', 'huge'], ['mask']),
    w.node('Cast', ['mask'], ['marks'], { attributes: [toFloat] }),
    w.node('Shape', ['x'], ['sizes']),
    w.node('Gather', ['sizes', 'first'], ['rows']),
    w.node('Expand', ['eight', 'rows'], ['lengths']),
    w.node(
      'ReverseSequence',
      ['marks', 'lengths'],
      ['turned'],
      named('turn', attribute.int('batch_axis', 0), attribute.int('time_axis', 1)),
    ),
    w.node('Add', ['x', 'turned'], ['y']),
  ],
  initializers: [
    w.floats('huge', [], [1e6]),
    w.int64s('first', [1], [0]),
    w.int64s('eight', [1], [FEATURES]),
  ],
};

/** masked marks what is so large that no request that is tried reaches it; `mask` makes y of x and these marks. */
function masked(mask: readonly Uint8Array[], initializers: readonly Uint8Array[] = []): RowModel {
  const nodes = [
    w.node('Greater', ['x', 'huge'], ['large']),
    w.node('Cast', ['large'], ['marks'], { attributes: [toFloat] }),
    ...mask,
    w.node('Add', ['x', 'turned'], ['y']),
  ];
  return { nodes, initializers: [number('huge', 1e6), ...initializers] };
}

const backwards = (from: string, to: string) =>
  w.node('Slice', [from, 'end', 'start', 'rows', 'back'], [to], { name: 'turn' });
const BACKWARDS = [
  w.int64s('end', [1], [-1]),
  w.int64s('start', [1], [-(2 ** 31)]),
  w.int64s('rows', [1], [0]),
  w.int64s('back', [1], [-1]),
];
const BATCH_SIZE = [
  w.node('Shape', ['x'], ['sizes']),
  w.node('Gather', ['sizes', 'nought'], ['count']),
  w.node('Cast', ['count'], ['requests'], { attributes: [toFloat] }),
];

/** localFunction makes a function of x that gives y. */
function localFunction(name: string, nodes: readonly Uint8Array[], attributes: readonly string[] = []) {
  return w.message(
    [1, name],
    [4, 'x'],
    [5, 'y'],
    ...attributes.map((attribute): w.FieldOf => [6, attribute]),
    ...nodes.map((node): w.FieldOf => [7, node]),
    ...[w.message([2, 17]), w.message([1, 'local'], [2, 1])].map((opset): w.FieldOf => [9, opset]),
    [10, 'local'],
  );
}

/** A function that passes on the attribute of its call. */
const ALONG = localFunction(
  'Along',
  [
    w.node('ReduceMax', ['x'], ['y'], {
      name: 'most',
      attributes: [w.message([1, 'axes'], [20, 7], [21, 'along'])],
    }),
  ],
  ['along'],
);
const LISTS = localFunction('Lists', [
  w.node('Floor', ['x'], ['whole']),
  w.node('NonZero', ['whole'], ['places'], { name: 'list' }),
  w.node('Size', ['places'], ['count']),
  w.node('Cast', ['count'], ['number'], { attributes: [toFloat] }),
  w.node('Add', ['x', 'number'], ['y']),
]);

interface Mixing {
  readonly model: RowModel;
  readonly named: RegExp;
  /** Whether it goes wrong with larger values only than any that are tried here. */
  readonly silent?: true;
}

/**
 * MIXING holds graphs that make a request's answer of the rows of others, some of them only for values that random ones
 * between 0 and 1 never reach; and what the reason must name.
 */
export const MIXING: Readonly<Record<string, Mixing>> = {
  'a list of what passes a threshold': { model: LIST, named: /^NonZero "which"/ },
  'an early exit by the largest value': {
    model: {
      nodes: [
        w.node('ReduceMax', ['x'], ['peak'], named('peak of all', ...all)),
        w.node('Greater', ['peak', 'three'], ['sure']),
        either('sure', 'y'),
      ],
      initializers: [number('three', 3)],
    },
    named: /ReduceMax "peak of all"/,
  },
  'an early exit by the mean of rows': {
    model: {
      nodes: [
        w.node(
          'ReduceMean',
          ['x'],
          ['mean'],
          named('over rows', attribute.ints('axes', [0]), attribute.int('keepdims', 0)),
        ),
        w.node('ReduceMax', ['mean'], ['peak'], { attributes: all }),
        w.node('Greater', ['peak', 'three'], ['sure']),
        either('sure', 'y'),
      ],
      initializers: [number('three', 3)],
    },
    named: /ReduceMean "over rows"/,
  },
  'a detector with NonMaxSuppression': {
    model: {
      nodes: [
        w.node('Reshape', ['x', 'boxed'], ['boxes']),
        w.node('Gather', ['x', 'two'], ['pair'], { attributes: [attribute.int('axis', 1)] }),
        w.node('Reshape', ['pair', 'classed'], ['scores']),
        w.node('NonMaxSuppression', ['boxes', 'scores', 'most', 'overlap', 'least'], ['y'], {
          name: 'suppress',
        }),
      ],
      initializers: [
        w.int64s('boxed', [3], [-1, 2, 4]),
        w.int64s('classed', [3], [-1, 1, 2]),
        w.int64s('two', [2], [0, 1]),
        w.int64s('most', [1], [10]),
        w.floats('overlap', [1], [0.5]),
        w.floats('least', [1], [2]),
      ],
    },
    named: /NonMaxSuppression "suppress"/,
  },
  'the largest of a batch': {
    model: {
      nodes: [w.node('TopK', ['x', 'one'], ['y', 'places'], named('best', attribute.int('axis', 0)))],
      initializers: [w.int64s('one', [1], [1])],
    },
    named: /y: .*|TopK "best"/,
  },
  'a clip that follows the whole batch': {
    model: {
      nodes: [
        w.node('ReduceMax', ['x'], ['peak'], named('peak', ...all)),
        w.node('Max', ['peak', 'one'], ['scale']),
        w.node('Div', ['x', 'scale'], ['y']),
      ],
      initializers: [number('one', 1)],
    },
    named: /ReduceMax "peak"/,
  },
  'a sum along the rows of what passes a threshold': {
    model: {
      nodes: [
        w.node('ThresholdedRelu', ['x'], ['high'], { attributes: [] }),
        w.node('CumSum', ['high', 'nought'], ['y'], { name: 'running' }),
      ],
      initializers: [w.int64s('nought', [], [0])],
    },
    named: /CumSum "running"/,
  },
  'what one row has and another lacks': {
    model: {
      nodes: [
        w.node('Greater', ['x', 'three'], ['large']),
        w.node('Reshape', ['large', 'flat'], ['vector']),
        w.node('Compress', ['x', 'vector'], ['y'], { name: 'pick' }),
      ],
      initializers: [number('three', 3), w.int64s('flat', [1], [-1])],
    },
    named: /Compress "pick"/,
  },
  'distinct rounded values': {
    model: {
      nodes: [w.node('Floor', ['x'], ['whole']), w.node('Unique', ['whole'], ['y'], { name: 'distinct' })],
    },
    named: /Unique "distinct"/,
  },
  'a loop that ends for all rows at once': { model: HALVED, named: /ReduceMax|Loop "halve"/ },
  'a scan that carries a state through the rows': { model: CARRIED, named: /Scan "carry"/ },
  'an equation that sums over rows': {
    model: {
      nodes: [
        w.node('ThresholdedRelu', ['x'], ['high']),
        w.node('Einsum', ['high'], ['sum'], {
          name: 'total',
          attributes: [w.attribute.text('equation', 'nf->f')],
        }),
        w.node('Add', ['x', 'sum'], ['y']),
      ],
    },
    named: /Einsum "total"/,
  },
  'a row that is taken from its neighbour': {
    model: STOLEN,
    named: /Gather "steal".*does not hold what each has alone/,
  },
  'a node that says nothing': {
    model: SILENT,
    named: /ReverseSequence "turn".*runs do not decide it/,
    silent: true,
  },
  'marks that are turned around': {
    model: masked([backwards('marks', 'turned')], BACKWARDS),
    named:
      /Slice "turn".*runs do not decide it, as no request that was tried changed what it takes \(marks\)/,
    silent: true,
  },
  'marks that are laid out across rows': {
    model: masked(
      [
        w.node('Transpose', ['marks'], ['across'], { attributes: [attribute.ints('perm', [1, 0])] }),
        w.node('Reshape', ['across', 'back'], ['turned'], { name: 'lay out' }),
      ],
      [w.int64s('back', [2], [-1, FEATURES])],
    ),
    named: /Reshape "lay out".*changed what it takes \(across\)/,
    silent: true,
  },
  'marks that are turned around in a branch': {
    model: masked(
      [
        w.node(
          'If',
          ['yes'],
          ['turned'],
          named(
            'gate',
            attribute.graph('then_branch', body([backwards('marks', 'taken')], [], ['taken'])),
            attribute.graph('else_branch', body([w.node('Abs', ['marks'], ['other'])], [], ['other'])),
          ),
        ),
      ],
      [...BACKWARDS, w.message([2, w.BOOL], [8, 'yes'], [9, Uint8Array.of(1)])],
    ),
    named: /If "gate": inside it, Slice "turn".*no run can look inside/,
    silent: true,
  },
  'the size of the batch in place of large values': {
    model: {
      nodes: [
        ...BATCH_SIZE,
        w.node('Greater', ['x', 'huge'], ['large']),
        w.node('Where', ['large', 'requests', 'x'], ['y'], { name: 'replace' }),
      ],
      initializers: [w.int64s('nought', [], [0]), number('huge', 1e6)],
    },
    named: /Where "replace".*runs do not show with which values it takes that size/,
    silent: true,
  },
  'a limit that the size of the batch makes': {
    model: {
      nodes: [
        ...BATCH_SIZE,
        w.node('Mul', ['requests', 'huge'], ['limit']),
        w.node('Min', ['x', 'limit'], ['y'], { name: 'limited' }),
      ],
      initializers: [w.int64s('nought', [], [0]), number('huge', 1e6)],
    },
    named: /Min "limited".*runs do not show with which values it takes that size/,
    silent: true,
  },
  'a function that lists, inside another one': {
    model: {
      nodes: [w.node('Outer', ['x'], ['y'], { name: 'call', domain: 'local' })],
      functions: [LISTS, localFunction('Outer', [w.node('Lists', ['x'], ['y'], { domain: 'local' })])],
    },
    named: /Outer "call": inside it, Lists "": inside it, NonZero "list"/,
  },
  'a function that divides by the largest of all': {
    model: {
      nodes: [w.node('Scaled', ['x'], ['y'], { name: 'call', domain: 'local' })],
      functions: [
        localFunction('Scaled', [
          w.node('ReduceMax', ['x'], ['peak'], named('peak', ...all)),
          w.node('Mul', ['peak', 'peak'], ['square']),
          w.node('Sqrt', ['square'], ['positive']),
          w.node('Ceil', ['positive'], ['scale']),
          w.node('Div', ['x', 'scale'], ['y']),
        ]),
      ],
    },
    named: /Scaled "call": inside it, ReduceMax "peak"/,
  },
  'a function that works along the axis it is told': {
    model: {
      ...masked([
        w.node('Along', ['marks'], ['turned'], {
          name: 'call',
          domain: 'local',
          attributes: [attribute.ints('along', [0])],
        }),
      ]),
      functions: [ALONG],
    },
    named: /Along "call": inside it, ReduceMax "most".*over axis 0, the batch/,
    silent: true,
  },
};

/** APART holds graphs in which every row goes its own way. */
export const APART: Readonly<Record<string, RowModel>> = {
  'the largest of each row': {
    nodes: [
      w.node('TopK', ['x', 'three'], ['top', 'places'], { attributes: [attribute.int('axis', 1)] }),
      w.node('GatherElements', ['x', 'places'], ['y'], { attributes: [attribute.int('axis', 1)] }),
    ],
    initializers: [w.int64s('three', [1], [3])],
  },
  'an element of each row, by row numbers': {
    nodes: [
      w.node('Shape', ['x'], ['sizes']),
      w.node('Gather', ['sizes', 'nought'], ['rows']),
      w.node('Range', ['nought', 'rows', 'one'], ['numbers']),
      w.node('ArgMax', ['x'], ['best'], {
        attributes: [attribute.int('axis', 1), attribute.int('keepdims', 1)],
      }),
      w.node('Unsqueeze', ['numbers', 'last'], ['column']),
      w.node('Concat', ['column', 'best'], ['places'], { attributes: [attribute.int('axis', 1)] }),
      w.node('GatherND', ['x', 'places'], ['y']),
    ],
    initializers: [w.int64s('nought', [], [0]), w.int64s('one', [], [1]), w.int64s('last', [1], [1])],
  },
  'a column that is replaced, by places made of sizes': {
    nodes: [
      w.node('Shape', ['x'], ['sizes']),
      w.node('ConstantOfShape', ['sizes'], ['filled'], { attributes: [] }),
      w.node('Gather', ['x', 'two'], ['column'], { attributes: [attribute.int('axis', 1)] }),
      w.node('Neg', ['column'], ['negative']),
      w.node('Gather', ['sizes', 'nought'], ['rows']),
      w.node('Range', ['nought', 'rows', 'one'], ['numbers']),
      w.node('Unsqueeze', ['numbers', 'last'], ['first']),
      w.node('Mul', ['first', 'nought'], ['zeros']),
      w.node('Add', ['zeros', 'two'], ['second']),
      w.node('Concat', ['first', 'second'], ['places'], { attributes: [attribute.int('axis', 1)] }),
      w.node('ScatterND', ['x', 'places', 'negative'], ['y']),
    ],
    initializers: [
      w.int64s('nought', [], [0]),
      w.int64s('one', [], [1]),
      w.int64s('two', [], [2]),
      w.int64s('last', [1], [1]),
    ],
  },
  'a loop of a given number of turns': {
    nodes: [
      w.node(
        'Loop',
        ['three', '', 'x'],
        ['y'],
        named(
          'thrice',
          attribute.graph(
            'body',
            body(
              [w.node('Mul', ['value', 'value'], ['next']), w.node('Identity', ['go'], ['again'])],
              [w.value('turn', w.INT64, []), w.value('go', w.BOOL, []), w.value('value', w.FLOAT)],
              ['again', 'next'],
            ),
          ),
        ),
      ),
    ],
    initializers: [w.int64s('three', [], [2])],
  },
  'rows flattened behind their second axis and laid out again': {
    nodes: [
      w.node('Reshape', ['x', 'square'], ['table']),
      w.node('Flatten', ['table'], ['entries'], { attributes: [attribute.int('axis', 2)] }),
      w.node('Softmax', ['entries'], ['shares'], { attributes: [attribute.int('axis', 1)] }),
      w.node('Reshape', ['shares', 'rows'], ['y']),
    ],
    initializers: [w.int64s('square', [3], [-1, 2, 4]), w.int64s('rows', [2], [-1, FEATURES])],
  },
  'a branch by a constant': {
    nodes: [either('yes', 'y')],
    initializers: [w.message([2, w.BOOL], [8, 'yes'], [9, Uint8Array.of(1)])],
  },
  'an equation of each row': {
    nodes: [
      w.node('Einsum', ['x', 'weights'], ['y'], { attributes: [w.attribute.text('equation', 'nf,fg->ng')] }),
    ],
    initializers: [
      w.floats(
        'weights',
        [FEATURES, 2],
        Array.from({ length: 2 * FEATURES }, (_, i) => i - 7),
      ),
    ],
  },
  'row numbers counted by NonZero': {
    nodes: [
      w.node('Shape', ['x'], ['sizes']),
      w.node('ConstantOfShape', ['sizes'], ['zeros']),
      w.node('Equal', ['zeros', 'nought'], ['all']),
      w.node('Cast', ['all'], ['ones'], { attributes: [toFloat] }),
      w.node('NonZero', ['ones'], ['places']),
      w.node('Transpose', ['places'], ['pairs']),
      w.node('GatherND', ['x', 'pairs'], ['vector']),
      w.node('Reshape', ['vector', 'sizes'], ['y']),
    ],
    initializers: [number('nought', 0)],
  },
  'a function of each row': {
    nodes: [
      w.node('Along', ['x'], ['most'], {
        domain: 'local',
        attributes: [attribute.ints('along', [1])],
      }),
      w.node('Halved', ['most'], ['y'], { domain: 'local' }),
    ],
    functions: [
      ALONG,
      localFunction('Halved', [
        w.node('Constant', [], ['whole'], { attributes: [attribute.int('value_int', 2)] }),
        w.node('CastLike', ['whole', 'x'], ['two']),
        w.node('Div', ['x', 'two'], ['y']),
      ]),
    ],
  },
  'a branch by the size of an axis, and padding that is computed': {
    nodes: [
      w.node('ConstantOfShape', ['two'], ['zeros'], {
        attributes: [attribute.tensor('value', w.int64s('', [1], [0]))],
      }),
      w.node('Concat', ['widths', 'zeros'], ['flat'], { attributes: [attribute.int('axis', 0)] }),
      w.node('Reshape', ['flat', 'pairs'], ['table']),
      w.node('Slice', ['table', 'last', 'start', 'nought', 'last'], ['reversed']),
      w.node('Transpose', ['reversed'], ['turned'], { attributes: [attribute.ints('perm', [1, 0])] }),
      w.node('Reshape', ['turned', 'last'], ['pads']),
      w.node('Pad', ['x', 'pads'], ['padded']),
      w.node('Unsqueeze', ['padded', 'second'], ['wide']),
      w.node('Shape', ['wide'], ['sizes']),
      w.node('Gather', ['sizes', 'one'], ['size']),
      w.node('Equal', ['size', 'one'], ['single']),
      w.node(
        'If',
        ['single'],
        ['y'],
        named(
          'squeeze',
          attribute.graph('else_branch', body([w.node('ReduceMax', ['wide'], ['other'])], [], ['other'])),
          attribute.graph(
            'then_branch',
            body([w.node('Squeeze', ['wide', 'second'], ['narrow'])], [], ['narrow']),
          ),
        ),
      ),
    ],
    initializers: [
      w.int64s('two', [1], [2]),
      w.int64s('widths', [2], [1, 2]),
      w.int64s('pairs', [2], [-1, 2]),
      w.int64s('last', [1], [-1]),
      w.int64s('start', [1], [-(2 ** 31)]),
      w.int64s('nought', [1], [0]),
      w.int64s('second', [1], [1]),
      w.int64s('one', [], [1]),
    ],
  },
  'rows reversed by one length': {
    nodes: [
      w.node('Shape', ['x'], ['sizes']),
      w.node('Gather', ['sizes', 'first'], ['rows']),
      w.node('Expand', ['eight', 'rows'], ['lengths']),
      w.node(
        'ReverseSequence',
        ['x', 'lengths'],
        ['y'],
        named('turn', attribute.int('batch_axis', 0), attribute.int('time_axis', 1)),
      ),
    ],
    initializers: [w.int64s('first', [1], [0]), w.int64s('eight', [1], [FEATURES])],
  },
};
