import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGrowingTree, entryOf, leafHash } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import { fillLog } from './audit-log.ts';
import { usageOf } from './process-usage.ts';

const cli = join(import.meta.dirname, '..', 'apps', 'cli');

/** How fast one part of an audit is, and how much memory its process took at most. */
export interface AuditRate {
  readonly eventsPerSecond: number;
  /** Per second of processor time, which other programs on the machine do not change as much. */
  readonly eventsPerCpuSecond: number;
  readonly rssMb: number;
}

/** What an auditor waits for. */
export interface AuditFigures {
  readonly events: number;
  /** SHA-256 over the same events, as the bundle has them. */
  readonly rawPerSecond: number;
  /** Entries, leaves and nodes, from events in memory. */
  readonly treePerSecond: number;
  /** The same by the notary, with the reading of the log. */
  readonly notaryPerSecond: number;
  readonly verify: AuditRate;
  readonly export: AuditRate;
  readonly verifyBundle: AuditRate;
  readonly verifier: AuditRate;
}

/** Measures the audit of a log with so many calls, each part in a process of its own. */
export async function measureAudit(calls: number): Promise<AuditFigures> {
  const { folder, events, treePerSecond: notaryPerSecond } = await fillLog(calls);
  const bundle = join(mkdtempSync(join(tmpdir(), 'countersign-bundle-')), 'bundle');
  const countersign = [join(cli, 'bin', 'countersign.js'), 'audit'];
  const verify = await timed(events, [...countersign, 'verify', folder], 3);
  const exported = await timed(events, [...countersign, 'export', folder, '-o', bundle], 0);
  const verifyBundle = await timed(events, [...countersign, 'verify', bundle], 3);
  const verifier = await timed(events, [join(cli, 'bundle', 'verify.mjs'), bundle], 3);
  const lines = readFileSync(join(bundle, 'events', '000000000000.ndjson'), 'utf8')
    .trimEnd()
    .split('\n');
  return { events, ...inMemory(lines), notaryPerSecond, verify, export: exported, verifyBundle, verifier };
}

function inMemory(lines: readonly string[]) {
  const rawAt = cpuMs();
  const hashing = createHash('sha256');
  for (const line of lines) hashing.update(line);
  hashing.digest();
  const rawPerSecond = (lines.length * 1000) / (cpuMs() - rawAt);
  const events = lines.map((line) => {
    const { entry, body } = JSON.parse(line) as { entry: StoredEvent; body: Pick<StoredEvent, 'data' | 'metadata'> };
    return { ...entry, ...body };
  });
  const tree = createGrowingTree();
  const treeAt = cpuMs();
  for (const event of events) tree.append(leafHash(entryOf(event)));
  tree.root();
  return { rawPerSecond, treePerSecond: (events.length * 1000) / (cpuMs() - treeAt) };
}

/** Runs a script to its end, and watches its memory. */
async function timed(events: number, args: readonly string[], wanted: number): Promise<AuditRate> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  let [rssMb, usedMs] = [NaN, NaN];
  const watch = setInterval(() => {
    rssMb = peakOf(child.pid) ?? rssMb;
    const used = usageOf(child.pid ?? 0).cpuMs;
    if (used > 0) usedMs = used;
  }, 20);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  if (code !== wanted) throw new Error(`${args.join(' ')} ended with ${String(code)}`);
  const eventsPerSecond = (events * 1000) / (performance.now() - startedAt);
  return { eventsPerSecond, eventsPerCpuSecond: (events * 1000) / usedMs, rssMb };
}

/** The most memory that a process had so far, in MB. */
function peakOf(pid: number | undefined): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

/** The processor time of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
