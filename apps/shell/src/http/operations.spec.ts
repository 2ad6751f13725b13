import 'reflect-metadata';
import { Module } from '@nestjs/common';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { nodeSafety } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { askReadiness } from './health.js';
import type { CheckResult } from './health.js';
import { version } from '../process/version.js';
import { createHttpServer } from './http-server.js';
import { createMetricsRegistry } from './metrics.js';
import { createNestLogger } from './nest-logger.js';
import { OperationsController, operationsPorts } from './operations.controller.js';
import type { OperationsPorts } from './operations.controller.js';
import { ProblemFilter } from './problem-filter.js';

@Module({})
class OperationsModule {}

let app: NestFastifyApplication | undefined;
afterEach(() => app?.close());

/** A process with only the operations routes, for the roles other than the gateway. */
async function open(ports: OperationsPorts): Promise<string> {
  const log = createCollectingLog();
  const filter = new ProblemFilter(log);
  const { adapter } = createHttpServer({ bodyBytesMax: 1024, filter, methodsOf: () => undefined });
  const module = {
    module: OperationsModule,
    controllers: [OperationsController],
    providers: [{ provide: operationsPorts, useValue: ports }],
  };
  const options: Pick<NestApplicationOptions, 'logger'> = { logger: createNestLogger(log) };
  app = await NestFactory.create<NestFastifyApplication>(module, adapter, options);
  app.useGlobalFilters(filter);
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

describe('a process other than the gateway', () => {
  it('says that it is alive, whether it is ready, and what it does', async () => {
    let bus: CheckResult = { status: 'failing', why: 'no topics' };
    const registry = createMetricsRegistry();
    const url = await open({ checks: [{ name: 'bus', check: () => bus }], metricsText: () => registry.metrics() });
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({
      status: 'ok',
      ...{ version, commit: null },
      node: nodeSafety(),
    });

    const notReady = await fetch(`${url}/readyz`);
    expect([notReady.status, notReady.headers.get('content-type')]).toEqual([
      503,
      expect.stringContaining('problem+json'),
    ]);
    expect(await notReady.json()).toMatchObject({ detail: 'not ready: bus: no topics', checks: { bus } });
    bus = { status: 'ok' };
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready', checks: { bus } });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_cpu_seconds_total');
  });

  it('answers anything else with a problem', async () => {
    const url = await open({ checks: [], metricsText: () => Promise.reject(new Error('at /secret/path')) });
    expect(await (await fetch(`${url}/nothing`)).json()).toMatchObject({ code: 'not-found', status: 404 });
    const broken = await fetch(`${url}/metrics`);
    expect([broken.status, await broken.text()]).toEqual([500, expect.not.stringContaining('secret')]);
  });
});

it('a check that throws is failing, and says why', async () => {
  const checks = [
    { name: 'a', check: () => Promise.reject(new Error('away')) },
    { name: 'b', check: (): CheckResult => ({ status: 'ok' }) },
  ];
  expect(await askReadiness(checks)).toEqual({
    status: 'not-ready',
    checks: { a: { status: 'failing', why: 'away' }, b: { status: 'ok' } },
  });
});

it.each([
  ['connect ECONNREFUSED 10.1.2.3:2113', 'connect ECONNREFUSED [hidden]'],
  ['connect ECONNREFUSED ::1:2113', 'connect ECONNREFUSED [hidden]'],
  ['connect ECONNREFUSED fe80::1', 'connect ECONNREFUSED [hidden]'],
  ['getaddrinfo ENOTFOUND at [2001:db8::7]:9092', 'getaddrinfo ENOTFOUND at [hidden]'],
  ['no answer from esdb://user:pass@store-1:2113?tls=true, again', 'no answer from [hidden] again'],
  ['the brokers kafka-1.internal:9092,kafka-2:9092 do not answer', 'the brokers [hidden],[hidden] do not answer'],
  ["ENOSPC: no space left, open '/var/lib/countersign/events.db'", "ENOSPC: no space left, open '[hidden]'"],
  ['behind the log for 12 s', 'behind the log for 12 s'],
  [
    'the topics a.b and c.d are missing: run `countersign topics create`',
    'the topics a.b and c.d are missing: run `countersign topics create`',
  ],
])('the readiness says "%s" without the places behind it', async (why, told) => {
  const checks = [
    { name: 'a', check: (): CheckResult => ({ status: 'failing', why }) },
    { name: 'b', check: () => Promise.reject(new Error(why)) },
  ];
  const result = { status: 'failing', why: told };
  expect((await askReadiness(checks)).checks).toEqual({ a: result, b: result });
});

it('Nest speaks in our log from warnings on', () => {
  const log = createCollectingLog();
  const logger = createNestLogger(log);
  logger.log('starting');
  logger.warn('careful');
  logger.error(new Error('broken'), 'Context');
  logger.fatal?.({ why: 'gone' });
  expect(log.entries.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'careful'],
    ['error', 'broken'],
    ['error', '{"why":"gone"}'],
  ]);
});
