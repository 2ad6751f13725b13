import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { median } from './closed-loop.ts';
import { comparedCycles } from './cycles.ts';
import type { CycleFigures } from './cycles.ts';
import { startProduct } from './subjects.ts';
import type { Subject } from './subjects.ts';

const names = ['off', 'on', 'floor'] as const;
type PerSubject<T> = Readonly<Record<(typeof names)[number], T>>;

/** The cost of tracing: a server without a collector, one with a collector, and the baseline, in the same run. */
export interface TracingFigures {
  /** Cycles alone. */
  readonly p50Ms: PerSubject<number>;
  /** The median of the differences of neighbouring cycles. */
  readonly addedMs: number;
  /** With 64 in flight. */
  readonly loaded: Readonly<Record<'off' | 'on', CycleFigures>>;
}

/** The collector runs in this process and only counts, so that a part of its cost is that of the load generator. */
export async function measureTracing(
  { off, floor }: Readonly<Record<'off' | 'floor', Subject>>,
  { cycles, seconds, rounds }: { readonly cycles: number; readonly seconds: number; readonly rounds: number },
): Promise<TracingFigures> {
  const collector = await openCollector();
  const on = await startProduct(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const subjects = { off, on, floor };
  await cyclesInTurn(subjects, Math.ceil(cycles / 4));
  const alone = await cyclesInTurn(subjects, cycles);
  const loaded = await comparedCycles(on, off, { inFlight: 64, seconds, rounds });
  await on.stop();
  collector.close();
  if (collector.bytes() === 0) throw new Error('the collector received no spans');
  return {
    p50Ms: { off: median(alone.off), on: median(alone.on), floor: median(alone.floor) },
    addedMs: median(alone.on.map((ms, n) => ms - (alone.off[n] ?? NaN))),
    loaded: { on: loaded.product, off: loaded.floor },
  };
}

/** The times of single cycles, in ms. The subjects take turns, and another one begins each time. */
async function cyclesInTurn(subjects: PerSubject<Subject>, cycles: number): Promise<PerSubject<number[]>> {
  const times: PerSubject<number[]> = { off: [], on: [], floor: [] };
  const { off, on, floor } = subjects;
  const connections = { off: await off.connect(), on: await on.connect(), floor: await floor.connect() };
  const round = `alone-${String(performance.now())}`;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(cycle + turn) % names.length] ?? 'off';
      const startedAt = performance.now();
      await subjects[name].cycle(connections[name], `${round}-${String(cycle)}`);
      times[name].push(performance.now() - startedAt);
    }
  }
  for (const name of names) connections[name].close();
  return times;
}

async function openCollector() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    bytes: () => bytes,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
