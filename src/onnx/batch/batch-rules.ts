import { broadcast, unary } from './batch-elementwise.js';
import {
  type BatchFlow,
  COMPUTES_WITH_SIZE,
  type Followed,
  flowing,
  followed,
  mixes,
  type RuleNode,
  type RuleResult,
  withBatch,
} from './batch-flow.js';
import {
  argExtreme,
  cumulate,
  gemm,
  lpNormalization,
  matMul,
  normalization,
  recurrent,
  reduce,
  resize,
  softmax,
  spatial,
  tile,
  topK,
} from './batch-layers.js';
import {
  concatenate,
  expand,
  filled,
  flatten,
  gather,
  pad,
  shape,
  slice,
  split,
  squeeze,
  transpose,
  unsqueeze,
} from './batch-layout.js';
import { reshape } from './batch-reshape.js';
import {
  compress,
  einsum,
  elementwiseOn,
  features,
  gatherNd,
  listing,
  oneHot,
  rowWise,
  sampled,
  sizeOf,
  standardized,
} from './batch-selection.js';

type Rule = (node: RuleNode) => RuleResult;

/**
 * These operators work element by element on one tensor; further inputs are parameters (bounds, scales)
 * without the batch.
 */
const UNARY =
  'Relu FastGelu LeakyRelu Elu Selu Celu Gelu QuickGelu Mish HardSigmoid HardSwish Swish Softplus Softsign ThresholdedRelu Sigmoid Tanh Erf Exp Log Sqrt Neg Abs Floor Ceil Round Sign Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Not IsNaN IsInf Cast Identity Clip Dropout Shrink QuantizeLinear DequantizeLinear BitwiseNot Trilu';
const BROADCAST =
  'BiasGelu Add Sub Mul Div Pow Max Min Sum Mean Mod And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual Where PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor';
/**
 * These operators take [batch, channels, …] and work on each row by itself, as long as the batch is the first
 * axis.
 */
const SPATIAL =
  'Conv FusedConv ConvTranspose ConvInteger QLinearConv MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool LRN BatchNormalization InstanceNormalization GroupNormalization DepthToSpace SpaceToDepth ImageScaler';
const REDUCTIONS =
  'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare';

/** The rules of these operators can follow elements that hold the size of the batch. */
const KEEPS_SIZES = new Set(
  'Identity Cast Mul Squeeze Unsqueeze Concat Slice Gather Reshape Expand Shape ConstantOfShape Resize Size'.split(
    ' ',
  ),
);

/**
 * These operators hand on zeros as zeros, where their first input (of Concat, all inputs) holds nothing else.
 */
const KEEPS_ZEROS = new Set(
  'Identity Cast Slice Expand Reshape Squeeze Unsqueeze Concat Transpose'.split(' '),
);

/** The inputs of these operators after the first are parameters, not data. */
const PARAMETERIZED = new Set(
  `Split Slice Pad Tile TopK CumSum CumProd Reshape Expand Squeeze Unsqueeze Resize Upsample ${REDUCTIONS}`.split(
    ' ',
  ),
);

const RULES = new Map<string, Rule>([
  ...each(UNARY, unary),
  ...each(BROADCAST, (node) => broadcast(node, node.flows)),
  ...each(SPATIAL, spatial),
  ...each(REDUCTIONS, reduce),
  ...each('ArgMax ArgMin', argExtreme),
  ...each('Softmax LogSoftmax Hardmax', softmax),
  ...each('LayerNormalization RMSNormalization', normalization),
  ...each('LSTM GRU RNN', recurrent),
  // The second input of CastLike gives its type only.
  ['CastLike', (node) => unary({ ...node, flows: node.flows.slice(0, 1) })],
  ['QLinearAdd', (node) => broadcast(node, [node.flows[0], node.flows[3]])],
  ['QLinearMul', (node) => broadcast(node, [node.flows[0], node.flows[3]])],
  ['Transpose', transpose],
  ['Reshape', reshape],
  ['Flatten', flatten],
  ['Squeeze', squeeze],
  ['Unsqueeze', unsqueeze],
  ['Concat', concatenate],
  ['Split', split],
  ['Slice', slice],
  ['Gather', gather],
  ['Pad', pad],
  ['Resize', resize],
  ['Upsample', resize],
  ['MatMul', (node) => matMul(node, node.flows[0], node.flows[1])],
  ['MatMulInteger', (node) => matMul(node, node.flows[0], node.flows[1])],
  ['QLinearMatMul', (node) => matMul(node, node.flows[0], node.flows[3])],
  ['Gemm', gemm],
  ['Shape', shape],
  ['TopK', topK],
  ['LpNormalization', lpNormalization],
  ...each('CumSum CumProd', cumulate),
  ['Tile', tile],
  ['Expand', expand],
  ['ConstantOfShape', filled],
  ...each('NonZero NonMaxSuppression Unique', listing),
  ['Compress', compress],
  ...each('GatherElements ScatterElements Scatter', elementwiseOn),
  ['GatherND', gatherNd],
  ['OneHot', oneHot],
  ['Einsum', einsum],
  ['MeanVarianceNormalization', standardized],
  ['GridSample', sampled],
  ['Size', sizeOf],
]);

/**
 * The operators of the domain for classical models work on each row by itself, except for
 * ArrayFeatureExtractor.
 */
const CLASSICAL_RULES = new Map<string, Rule>([
  ...each(
    'Scaler Normalizer Imputer Binarizer LinearClassifier LinearRegressor SVMClassifier SVMRegressor TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap',
    rowWise,
  ),
  ['ArrayFeatureExtractor', features],
]);

function each(ops: string, rule: Rule): [string, Rule][] {
  return ops.split(' ').map((op) => [op, rule]);
}

/** These operators compute scales from all rows of a batch, so that rows influence one another slightly. */
const SLIGHTLY_MIXING = new Map<string, Rule>([
  ['DynamicQuantizeLinear', quantizedTogether],
  ['DynamicQuantizeMatMul', (node) => matMul(node, node.flows[0], node.flows[1])],
  ['DynamicQuantizeLSTM', recurrent],
]);

/** mixesSlightly says whether a node takes its scales from all rows of a batch. */
export function mixesSlightly(node: RuleNode): boolean {
  return SLIGHTLY_MIXING.has(node.op) && node.flows.some((flow) => flow?.batch !== undefined);
}

/** quantizedTogether gives the quantized rows; their one scale and zero point have no batch. */
function quantizedTogether(node: RuleNode): RuleResult {
  const data = node.flows[0];
  return { flows: [withBatch(data?.batch, data?.dims), { dims: [] }, { dims: [] }] };
}

/**
 * follow gives the flow of a node's outputs when the batch is free, or the reason why its operator may mix rows.
 * @param mixing whether rows may influence one another slightly, by scales that are taken from all of them
 */
export function follow(node: RuleNode, domain: string, mixing: boolean): RuleResult {
  if (mixesSlightly(node) && !mixing) return mixes('it takes its scale from all rows of a batch');
  const touched = node.flows.some((flow) => flow?.batch !== undefined || flow?.sized === true);
  const rule = ruleOf(node.op, domain);
  if (node.flows.some((flow) => flow?.sized) && !KEEPS_SIZES.has(node.op)) return COMPUTES_WITH_SIZE;
  if (node.op === 'Resize' && node.flows.slice(0, 3).some((flow) => flow?.sized)) return COMPUTES_WITH_SIZE;
  if (PARAMETERIZED.has(node.op) && node.flows.slice(1).some((flow) => flow?.batch !== undefined))
    return mixes('its sizes or places are computed from the rows of a batch');
  if (rule === undefined) return touched ? 'no rule says how it treats a batch' : flowing(node, {});
  const result = rule(node);
  const found = followed(result);
  if (found === undefined) return result;
  const known = rowsAlike(node) ? withAll(found, { alike: true }) : found;
  return keepsZeros(node) ? withAll(known, { zeros: true }) : known;
}

/** rowsAlike says whether the rows of a node's inputs, if there are any, are the same for all requests. */
export function rowsAlike({ flows }: RuleNode): boolean {
  const batched = flows.filter((flow) => flow?.batch !== undefined);
  return batched.length > 0 && batched.every((flow) => flow?.alike);
}

function ruleOf(op: string, domain: string): Rule | undefined {
  if (domain === 'ai.onnx.ml') return CLASSICAL_RULES.get(op);
  return domain === '' || domain === 'com.microsoft' ? (RULES.get(op) ?? SLIGHTLY_MIXING.get(op)) : undefined;
}

function keepsZeros({ op, flows }: RuleNode): boolean {
  if (!KEEPS_ZEROS.has(op)) return false;
  return op === 'Concat' ? flows.every((flow) => flow?.zeros) : flows[0]?.zeros === true;
}

function withAll(result: Followed, more: Pick<BatchFlow, 'alike' | 'zeros'>): Followed {
  return { ...result, flows: result.flows.map((flow) => ({ ...flow, ...more })) };
}
