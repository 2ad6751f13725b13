import { randomUUID } from 'node:crypto';
import { closedLoop, median, percentile } from './closed-loop.ts';
import { fetchConnection } from './http-client.ts';
import { usageBetween, usageOf } from './process-usage.ts';
import type { Subject } from './subjects.ts';

/** One subject's results at one load, per approval cycle. */
export interface CycleFigures {
  readonly cyclesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerCycle: number;
  readonly flushesPerCycle: number;
  readonly writtenBytesPerCycle: number;
  readonly systemCallsPerCycle: number;
}

export interface Load {
  readonly inFlight: number;
  readonly seconds: number;
  /** How the load calls: plain sockets, which leave the CPU to the server, or `fetch`, like the SDK. Default: plain. */
  readonly caller?: 'fetch';
}

/** One round: full cycles with a fixed number in flight, and the resources that the server's process used. */
export async function runCycles(subject: Subject, { inFlight, seconds, caller }: Load): Promise<CycleFigures> {
  const connections = await Promise.all(
    Array.from({ length: inFlight }, () => (caller === 'fetch' ? fetchConnection(subject.port) : subject.connect())),
  );
  const round = randomUUID().slice(0, 8);
  const flushesBefore = await subject.flushes();
  const before = usageOf(subject.pid);
  const measured = await closedLoop(inFlight, seconds, async (slot, n) => {
    const connection = connections[slot];
    if (connection !== undefined) await subject.cycle(connection, `${round}-${String(n)}`);
  });
  const used = usageBetween(before, usageOf(subject.pid));
  const flushes = (await subject.flushes()) - flushesBefore;
  for (const connection of connections) connection.close();
  return {
    cyclesPerSecond: measured.cycles / measured.seconds,
    p50Ms: percentile(measured.latenciesMs, 50),
    p99Ms: percentile(measured.latenciesMs, 99),
    cpuMsPerCycle: used.cpuMs / measured.cycles,
    flushesPerCycle: flushes / measured.cycles,
    writtenBytesPerCycle: used.writtenBytes / measured.cycles,
    systemCallsPerCycle: (used.readCalls + used.writeCalls) / measured.cycles,
  };
}

/** The middle of several rounds, figure by figure. */
export function middle(rounds: readonly CycleFigures[]): CycleFigures {
  const of = (pick: (figures: CycleFigures) => number): number => median(rounds.map(pick));
  return {
    cyclesPerSecond: of((one) => one.cyclesPerSecond),
    p50Ms: of((one) => one.p50Ms),
    p99Ms: of((one) => one.p99Ms),
    cpuMsPerCycle: of((one) => one.cpuMsPerCycle),
    flushesPerCycle: of((one) => one.flushesPerCycle),
    writtenBytesPerCycle: of((one) => one.writtenBytesPerCycle),
    systemCallsPerCycle: of((one) => one.systemCallsPerCycle),
  };
}

/** Both subjects at one load: the middle of their rounds. */
export interface ComparedCycles {
  readonly product: CycleFigures;
  readonly floor: CycleFigures;
  /**
   * The product's round with the fewest calls. V8 wakes its own event loop with a write and a read while it marks
   * memory, up to thousands of times a second: such calls come in bursts and only add.
   */
  readonly leastSystemCalls: number;
}

/**
 * Product and floor in turn, so that a machine whose speed drifts drifts for both. `floorRounds`: fewer of them for the floor, where
 * only the product's figures count.
 */
export async function comparedCycles(
  product: Subject,
  floor: Subject,
  { rounds, floorRounds = rounds, ...load }: Load & { readonly rounds: number; readonly floorRounds?: number },
): Promise<ComparedCycles> {
  const ofProduct: CycleFigures[] = [];
  const ofFloor: CycleFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ofProduct.push(await runCycles(product, load));
    if (round < floorRounds) ofFloor.push(await runCycles(floor, load));
  }
  return {
    product: middle(ofProduct),
    floor: middle(ofFloor),
    leastSystemCalls: Math.min(...ofProduct.map((one) => one.systemCallsPerCycle)),
  };
}
