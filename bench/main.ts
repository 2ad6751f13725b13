// `npm run bench`: the cost of an approval cycle, with the baseline in the same run. `--smoke`: seconds, no verdicts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureAudit } from './audit.ts';
import { comparedCycles } from './cycles.ts';
import { bodyOf, comparedInProcess } from './in-process.ts';
import { fillPending, idleCost, listLatency } from './pending.ts';
import { measureMcpGate, measureUngatedMcp } from './mcp-gate.ts';
import { measureRules } from './policy-rules.ts';
import { measureRebuild } from './rebuild.ts';
import { checkCounts } from './gate.ts';
import type { Count } from './gate.ts';
import { measureRungs, rungs } from './rungs.ts';
import { describeMachine, figure, table } from './report.ts';
import { startFloor, startProduct } from './subjects.ts';
import { measureTracing } from './tracing.ts';
import { measureProtocols, measureUngated } from './ungated.ts';

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    out: { type: 'string', default: join(import.meta.dirname, '..', '.cache', 'bench.json') },
    gate: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  console.log(`npm run bench [-- --smoke] [-- --gate] [-- --out FILE]

One approval cycle = request durable and visible, approve, tool executed once, outcome durable: four HTTP calls.
The floor is the same four durable steps with group commit, zod and SHA-256 over fastify, without product logic.
Prints a table and writes every figure to FILE (default .cache/bench.json). With --gate it fails when a count that noise
does not move is over its limit: flushes, bytes and calls per cycle, wake-ups while idle. Times are never gated.`);
  process.exit(0);
}

const seconds = options.smoke ? 1 : 4;
/** For what no count is taken from: in a smoke run it has only to work. */
const secondsUngated = options.smoke ? 0.2 : seconds;
const rounds = options.smoke ? 1 : 5;
const progress = (what: string): void => {
  process.stderr.write(`bench: ${what} …\n`);
};

const results: Record<string, unknown> = {
  ...describeMachine(),
  measuredAt: new Date().toISOString(),
  smoke: options.smoke,
};
const rows: string[][] = [];
/** Counts that do not depend on how fast the machine is, with the most that they may be. */
const counts: Count[] = [];
const add = (name: string, product: number, floor: number, wanted: string): void => {
  rows.push([name, figure(product), figure(floor), Number.isFinite(floor) ? figure(product / floor) : '', wanted]);
};

progress('warming up');
const product = await startProduct();
const floor = await startFloor();
await comparedCycles(product, floor, { inFlight: 64, seconds: secondsUngated, rounds: 1 });

for (const inFlight of [1, 64, 512]) {
  progress(`${String(inFlight)} in flight, product and floor in turn`);
  const load = { inFlight, seconds, rounds: Math.max(rounds, 3), ...(options.smoke ? { floorRounds: 1 } : {}) };
  const both = await comparedCycles(product, floor, load);
  results[`http-${String(inFlight)}`] = both;
  const at = `${String(inFlight)} in flight`;
  add(
    `cycles/s, ${at}`,
    both.product.cyclesPerSecond,
    both.floor.cyclesPerSecond,
    { 1: '', 64: '≥ 0.55', 512: '≥ 0.6' }[inFlight] ?? '',
  );
  add(`p50 ms, ${at}`, both.product.p50Ms, both.floor.p50Ms, inFlight === 1 ? '≤ 1.5' : '');
  add(`p99 ms, ${at}`, both.product.p99Ms, both.floor.p99Ms, '');
  add(`CPU ms per cycle, ${at}`, both.product.cpuMsPerCycle, both.floor.cpuMsPerCycle, '≤ 1.7');
  add(
    `flushes per cycle, ${at}`,
    both.product.flushesPerCycle,
    both.floor.flushesPerCycle,
    { 1: '4 steps: ≤ 4', 64: '', 512: '≤ 0.05' }[inFlight] ?? '',
  );
  add(`bytes written per cycle, ${at}`, both.product.writtenBytesPerCycle, both.floor.writtenBytesPerCycle, '');
  if (inFlight !== 64)
    counts.push({
      name: `flushes per cycle, ${at}`,
      value: both.product.flushesPerCycle,
      most: inFlight === 1 ? 4 : 0.05,
      mostInSmoke: inFlight === 1 ? 4.5 : 0.08,
    });
  counts.push({
    name: `bytes written per cycle, ${at}`,
    value: both.product.writtenBytesPerCycle,
    most: inFlight === 1 ? 160_000 : 48_000,
    mostInSmoke: inFlight === 1 ? 240_000 : 72_000,
  });
  counts.push({
    name: `read and write calls per cycle, ${at}, in the round with the fewest`,
    value: both.leastSystemCalls,
    most: inFlight === 1 ? 64 : 32,
    mostInSmoke: inFlight === 1 ? 96 : 48,
  });
  add(`read and write calls per cycle, ${at}`, both.product.systemCallsPerCycle, both.floor.systemCallsPerCycle, '');
}
for (const inFlight of [1, 64, 512]) {
  progress(`${String(inFlight)} in flight, called with fetch`);
  const both = await comparedCycles(product, floor, { inFlight, seconds: secondsUngated, rounds, caller: 'fetch' });
  results[`fetch-${String(inFlight)}`] = both;
  const at = `${String(inFlight)} in flight, called with fetch`;
  add(`cycles/s, ${at}`, both.product.cyclesPerSecond, both.floor.cyclesPerSecond, '');
  add(`p50 ms, ${at}`, both.product.p50Ms, both.floor.p50Ms, '');
}
progress('tracing: without a collector, with one, and the floor');
const traced = await measureTracing(
  { off: product, floor },
  { cycles: options.smoke ? 20 : 200, seconds: secondsUngated, rounds },
);
results['tracing'] = traced;
const { off, on, floor: bare } = traced.p50Ms;
add('cycle alone without a collector: p50 ms', off, bare, '');
add('cycle alone with a collector: p50 ms', on, bare, '');
rows.push(['the same: added by spans, median of neighbours, ms', figure(traced.addedMs), '', '', '']);
for (const [name, figures] of Object.entries(traced.loaded)) {
  const at = `64 in flight, ${name === 'on' ? 'with' : 'without'} a collector`;
  rows.push([`cycles/s, ${at}`, figure(figures.cyclesPerSecond), '', '', '']);
  rows.push([`CPU ms per cycle, ${at}`, figure(figures.cpuMsPerCycle), '', '', '']);
}
progress('a run without calls, alone and behind each protocol');
const protocols = await measureProtocols(product, options.smoke ? 20 : 500);
results['protocols'] = protocols;
for (const { name, behindMs, aloneMs } of protocols) add(`run without calls, ${name}: p50 ms`, behindMs, aloneMs, '');
progress('a read-only tool, of an MCP server alone and with the gate before it');
const mcpGate = await measureMcpGate(product, options.smoke ? 20 : 200);
results['mcp-gate'] = mcpGate;
add('call of a read-only tool over MCP, with the gate and alone: p50 ms', mcpGate.behindMs, mcpGate.aloneMs, '');
rows.push(['the same: added, median of pairs, ms', figure(mcpGate.addedMs), '', '', '']);
await product.stop();
await floor.stop();

progress('in process, 64 in flight');
const inProcess = await comparedInProcess({ inFlight: 64, seconds: secondsUngated, rounds });
results['in-process-64'] = inProcess;
add('cycles/s in process, 64 in flight', inProcess.product, inProcess.floor, '≥ 0.5');

progress('what the floor would do with parts of a ledger, in process');
const climbed = await measureRungs({ inFlight: 64, seconds: secondsUngated / 2, rounds }, bodyOf);
results['rungs'] = Object.fromEntries(rungs.map((name, rung) => [name, climbed[rung]]));
rungs.forEach((name, rung) => {
  const [rate = NaN, first = NaN] = [climbed[rung], climbed[0]];
  if (rung > 0) add(`cycles/s in process: ${name}`, rate, first, '');
});

const [few, many] = options.smoke ? [500, 1000] : [10_000, 100_000];
progress(`listing with ${figure(few)} and with ${figure(many)} pending`);
const waiting = await startProduct();
await fillPending(waiting, 0, few);
const listedFew = await listLatency(waiting, secondsUngated);
await fillPending(waiting, few, many);
const listedMany = await listLatency(waiting, secondsUngated);
const idle = await idleCost(waiting, options.smoke ? 1 : 5);
await waiting.stop();
results['list'] = { few, many, listedFew, listedMany };
results['idle'] = { pending: many, ...idle };
counts.push({ name: 'wake-ups per second while only people are waited for', value: idle.callsPerSecond, most: 20 });
rows.push([
  `list 100 of ${figure(many)} pending, p99 ms`,
  figure(listedMany.p99Ms),
  figure(listedFew.p99Ms),
  figure(listedMany.p99Ms / listedFew.p99Ms),
  `≤ 10; ≤ 1.2 × that of ${figure(few)}`,
]);
rows.push([`server RSS MB with ${figure(many)} pending`, figure(listedMany.rssMb), '', '', '≤ 250']);
rows.push(['idle with them: CPU ms per s', figure(idle.cpuMsPerSecond), '', '', '']);
rows.push(['idle with them: wake-ups per s', figure(idle.callsPerSecond), '', '', '']);

progress('rebuilding the read model');
const rebuilt = await measureRebuild(product.folder);
results['rebuild'] = rebuilt;
rows.push(['rebuild of the read model, events/s', figure(rebuilt.eventsPerSecond), '', '', '≥ 50,000']);

progress('auditing a log: tree, verify, export, and both verifiers of a bundle');
const audited = await measureAudit(options.smoke ? 200 : 34_000);
results['audit'] = audited;
add(
  'tree over events, events/s (floor: SHA-256 of the same bytes)',
  audited.treePerSecond,
  audited.rawPerSecond,
  '≥ 100,000',
);
for (const [what, rate, wanted] of [
  ['verify a data folder', audited.verify, '≥ 30,000'],
  ['export a bundle', audited.export, '≥ 25,000'],
  ['verify a bundle', audited.verifyBundle, ''],
  ['verify.mjs on a bundle', audited.verifier, ''],
] as const) {
  add(`${what} of ${figure(audited.events)} events, events/s`, rate.eventsPerSecond, audited.rawPerSecond, wanted);
  rows.push(['the same: events per s of processor time', figure(rate.eventsPerCpuSecond), '', '', '']);
  rows.push(['the same: RSS MB', figure(rate.rssMb), '', '', '≤ 300']);
}

progress('judging a call by 1,000 rules');
const ruled = measureRules(1000, options.smoke ? 2 : 20);
results['rules'] = ruled;
add('judge a call by 1,000 rules, one of which its globs match: p50 ms', ruled.globs.p50Ms, ruled.none.p50Ms, '');
add('the same: p99 ms', ruled.globs.p99Ms, ruled.none.p99Ms, '≤ 1');
add('judge a call by 1,000 expressions: p99 ms', ruled.expressions.p99Ms, ruled.none.p99Ms, '');

progress('an ungated tool, in each framework alone and with its adapter');
const ungated = await measureUngated(options.smoke ? 20 : 500);
results['ungated'] = ungated ?? 'skipped: `npm run adapters` installs the frameworks';
const ungatedMcp = await measureUngatedMcp(options.smoke ? 20 : 500);
results['ungated-mcp'] = ungatedMcp;
for (const { name, aloneMs, behindMs, addedMs } of [...(ungated ?? []), ...ungatedMcp]) {
  add(`one ungated call, ${name}: p50 ms`, behindMs, aloneMs, '');
  rows.push([`the same: added, median of pairs, ms`, figure(addedMs), '', '', '≤ 1']);
}

for (const [name, value] of Object.entries(describeMachine())) console.log(`${name}: ${value}`);
console.log(`\n${table(['', 'Countersign', 'floor', 'ratio', 'wanted'], rows)}`);
mkdirSync(dirname(options.out), { recursive: true });
writeFileSync(options.out, `${JSON.stringify(results, null, 2)}\n`);
process.stderr.write(`bench: every figure is in ${options.out}\n`);
if (options.gate) checkCounts(counts, options);
