import { broadcast, unary } from './batch-elementwise.js';
import { COMPUTES_WITH_SIZE, flowing, type RuleNode, type RuleResult } from './batch-flow.js';
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

type Rule = (node: RuleNode) => RuleResult;

/** These work element by element on one tensor; further inputs are parameters (bounds, scales) without the batch. */
const UNARY =
  'Relu LeakyRelu Elu Selu Celu Gelu QuickGelu Mish HardSigmoid HardSwish Swish Softplus Softsign ThresholdedRelu Sigmoid Tanh Erf Exp Log Sqrt Neg Abs Floor Ceil Round Sign Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Not IsNaN IsInf Cast CastLike Identity Clip Dropout Shrink QuantizeLinear DequantizeLinear BitwiseNot Trilu';
const BROADCAST =
  'BiasGelu Add Sub Mul Div Pow Max Min Sum Mean Mod And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual Where PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor';
/** These take [batch, channels, …] and work on each row by itself, as long as the batch is the first axis. */
const SPATIAL =
  'Conv FusedConv ConvTranspose ConvInteger QLinearConv MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool LRN BatchNormalization InstanceNormalization GroupNormalization DepthToSpace SpaceToDepth ImageScaler';
const REDUCTIONS =
  'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare';

/** The rules of these operators can follow elements that hold the size of the batch. */
const KEEPS_SIZES = new Set(
  'Identity Cast Mul Squeeze Unsqueeze Concat Slice Gather Reshape Expand Shape ConstantOfShape'.split(' '),
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
]);

function each(ops: string, rule: Rule): [string, Rule][] {
  return ops.split(' ').map((op) => [op, rule]);
}

/** follow gives the flow of a node's outputs when the batch is free, or the reason why its operator may mix rows. */
export function follow(node: RuleNode, domain: string): RuleResult {
  const touched = node.flows.some((flow) => flow?.batch !== undefined || flow?.sized === true);
  const rule = domain === '' || domain === 'com.microsoft' ? RULES.get(node.op) : undefined;
  if (node.flows.some((flow) => flow?.sized) && !KEEPS_SIZES.has(node.op)) return COMPUTES_WITH_SIZE;
  if (PARAMETERIZED.has(node.op) && node.flows.slice(1).some((flow) => flow?.batch !== undefined))
    return 'a parameter of it has the batch';
  if (rule === undefined) return touched ? 'no rule says how it treats a batch' : flowing(node, {});
  return rule(node);
}
