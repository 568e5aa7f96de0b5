import { describe, expect, it } from 'vitest';
import { plainWords } from '../../src/execution/plain-words.js';

const SOURCE = '/onnxruntime_src/onnxruntime/core';

describe('plainWords()', () => {
  it.each([
    [
      'a method',
      `${SOURCE}/graph/model.cc:202 onnxruntime::Model::Model(onnx::ModelProto&&, const onnxruntime::logging::Logger&) Unsupported model IR version: 99\n`,
      'Unsupported model IR version: 99',
    ],
    [
      'a template in the middle of a line',
      `Non-zero status code. Name:'n' Status Message: ${SOURCE}/providers/cpu/tensor/gather_elements.cc:150 void onnxruntime::core_impl(const Tensor*, int64_t) [with Tin = long int; int64_t = long int] GatherElements op: Out of range`,
      "Non-zero status code. Name:'n' Status Message: GatherElements op: Out of range",
    ],
    [
      'nested brackets',
      `${SOURCE}/a.h:46 void f::Run(const std::unordered_map<std::string<char>, int>&, std::function<void(int)>) const Opset 99`,
      'Opset 99',
    ],
    [
      'a lambda',
      `${SOURCE}/a.cc:7 onnxruntime::Foo::Bar(int)::<lambda(long int)> it failed (twice)`,
      'it failed (twice)',
    ],
    ['an operator', `${SOURCE}/a.cc:7 void ns::Less::operator()(int, int) const no`, 'no'],
    [
      'Windows',
      'D:\\a\\_work\\1\\s\\onnxruntime\\core\\graph\\model.cc:202 onnxruntime::Model::Model Unsupported (so far)',
      'Unsupported (so far)',
    ],
    [
      'a quoted source',
      `Exception caught: "${SOURCE}/a.cc:7 f::g it failed"`,
      'Exception caught: "it failed"',
    ],
    [
      'no source',
      'Node (a) Op (MatMul) [ShapeInferenceError] Incompatible dimensions',
      'Node (a) Op (MatMul) [ShapeInferenceError] Incompatible dimensions',
    ],
    [
      'a file of the user',
      '/models/onnxruntime/m.onnx: it failed (twice)',
      '/models/onnxruntime/m.onnx: it failed (twice)',
    ],
  ])('keeps the useful part of a message with %s', (_what, said, plain) => {
    expect(plainWords(said)).toBe(plain);
  });

  it('gives one line of at most 1,000 characters, whatever the message', () => {
    expect(plainWords(`one\ntwo`)).toBe('one');
    const long = plainWords('x'.repeat(100_000));
    expect(long).toHaveLength(1000);
    expect(long.endsWith('…')).toBe(true);
    expect(plainWords(`${SOURCE}/a.cc:1 void f(((((${'('.repeat(50_000)}`).length).toBeLessThan(1001);
    expect(plainWords(`${SOURCE}/a.cc:1 f::g(int) `.repeat(2000)).length).toBeLessThan(1001);
  });

  // This takes well under a millisecond, or half a minute where every slash may begin the path of a source.
  it('takes no longer for names that look like the beginnings of many paths', { timeout: 10_000 }, () => {
    expect(plainWords('/onnxruntime'.repeat(1500))).toHaveLength(1000);
  });
});
