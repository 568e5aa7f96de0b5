import type { Command } from 'commander';

/** Example is a command line that can be typed, after the name of its command, and what it does. */
type Example = readonly [line: string, does: string];

/** EXAMPLES has two examples of each command, which its help ends with. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  plan: [
    ['init --example pooled', 'write an example that can be solved'],
    ['solve pooled/spec.yaml -o plan.json', 'find its plan'],
  ],
  devices: [
    ['', 'which devices can be profiled here'],
    ['cuda:0 --json', 'whether this one can, for scripts'],
  ],
  profile: [
    ['model.onnx --device cuda:0 --batch 1,2,4,8', 'measure a model on a GPU'],
    ['model.onnx --device slow=cpu:1,slowdown=3 --dim seq=128', 'on an emulated slower device'],
  ],
  'profile import': [
    ['trace.json --model bert --device L4 --batch 1 -o bert.profile.json', 'figures of ONNX Runtime'],
    [
      'csv bert-L4-0.csv --model bert --batch 1,2,4 --cut-bytes cuts.txt -o bert.profile.json',
      'figures that stand in a table',
    ],
  ],
  'profile engine': [
    ['http://127.0.0.1:8000 -o engine.json', 'measure the engine that serves a bundle there'],
    ['http://127.0.0.1:8000 --model detector --requests 500', 'by one of its models, with more requests'],
  ],
  'profile merge': [
    ['model.L4.json model.T4.json -o model.profile.json', 'the profiles of two machines'],
    ['model.L4.json model.T4.json -o -', 'print the profile'],
  ],
  partition: [
    ['model.onnx --profile model.profile.json --blocks 6', 'cut it into six blocks'],
    ['model.onnx --method min-transfer --extract blocks/', 'write the blocks as ONNX files'],
  ],
  init: [
    ['model.profile.json -o spec.yaml', 'begin a spec of one model'],
    ['--example cascade -o family', 'write an example into a folder'],
    ['--from-kubectl nodes.json -o cluster.yaml', 'begin a cluster from the nodes of Kubernetes'],
  ],
  solve: [
    ['spec.yaml -o plan.json', 'the best plan, with its bound'],
    ['spec.yaml --hold 99% -o plan.json', 'the plan that holds most with 99 % in time'],
  ],
  simulate: [
    ['plan.json --trace day.csv --fail-under 99%', 'end with 6 where fewer are in time'],
    ['plan.json --load 1.1 --schedulers all', 'which scheduler serves it best under overload'],
  ],
  compare: [
    ['spec.yaml --budget 12', 'which mixes to buy for 12 an hour'],
    ['spec.yaml --mix L4=2,T4=8 --sweep slo=3x..6x', 'one mix under other SLOs'],
  ],
  diff: [
    ['old.json plan.json', 'what a new plan changes'],
    ['old.json plan.json --check', 'end with 6 where it changes anything'],
    ['old.json plan.json --check --tolerance cost=2%', 'end with 6 where it costs 2 % more or less'],
  ],
  deploy: [
    ['plan.json -o bundle', 'write what plan serve runs'],
    ['plan.json -o bundle --model detector=models/detector.onnx', 'with a model that lies elsewhere'],
    ['bundle -o again', 'from a bundle, the plan that it holds'],
  ],
  serve: [
    ['bundle --port 8000', 'serve it over HTTP'],
    ['bundle --port 0 --json', 'on any free port, told in JSON'],
  ],
  load: [
    ['http://127.0.0.1:8000 --rps 200 --duration 30s --fail-under 99%', 'end with 6 where fewer are in time'],
    ['http://127.0.0.1:8000 --trace day.csv -o load.json', 'the requests of a trace'],
  ],
  verify: [
    ['load.json --plan plan.json --within 5%', 'end with 6 where the simulation differs more'],
    ['load.json --plan plan.json --correct new.profile.json', 'the profile, as the server measured it'],
  ],
  trace: [
    ['describe day.csv', 'rates, burstiness and gaps'],
    ['convert azure.csv -o day.csv', 'the CSV of inferplan'],
  ],
  'trace describe': [
    ['day.csv --window 1min', 'rates by the minute'],
    ['detector=a.csv segmenter=b.csv', 'the traces of two models'],
  ],
  'trace convert': [
    ['azure.csv -o day.csv', 'the CSV of inferplan'],
    ['gaps.txt --trace-format perf-analyzer-intervals -o gaps.csv', 'gaps in µs'],
  ],
  'trace rescale': [
    ['day.csv --rps 50 -o slower.csv', 'the same shape at another rate'],
    ['day.csv --duration 10min -o short.csv', 'the same shape in ten minutes'],
  ],
  'trace slice': [
    ['day.csv --busiest 1h -o hour.csv', 'the hour with the most requests'],
    ['day.csv --from 18h --to 19h -o evening.csv', 'an hour of the evening'],
  ],
  validate: [
    ['spec.yaml plan.json', 'whether the plan is what the spec asks for'],
    ['bundle --strict', 'refuse a plan that is not checked against all that it was made from'],
  ],
  schema: [
    ['pooled', 'the JSON Schema of specs'],
    ['profile > profile.schema.json', 'keep it for an editor'],
  ],
  completion: [
    ['bash > ~/.local/share/bash-completion/completions/plan', 'for bash, from its next start'],
    ['pwsh >> $PROFILE', 'for PowerShell'],
  ],
};

/** addExamples ends the help of a command, which `path` names, with its examples. */
export function addExamples(command: Command, path: string): void {
  const lines = examplesOf(path).map(({ line, does }) => `  $ ${line}\n      ${does}`);
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** examplesOf lists the examples of a command as they are typed. */
export function examplesOf(path: string): { readonly line: string; readonly does: string }[] {
  const own = EXAMPLES[path] ?? [];
  const named = path === 'plan' ? path : `plan ${path}`;
  return own.map(([rest, does]) => ({ line: `${named} ${rest}`.trim(), does }));
}
