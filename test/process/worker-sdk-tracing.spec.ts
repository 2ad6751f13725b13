import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attributesOf, openOtlpCollector } from '@countersign/shell/testing';
import type { ReceivedSpan } from '@countersign/shell/testing';
import { createClient } from '@countersign/worker-sdk';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { startAgent, untilNoted } from './worker-sdk/setup.js';

cleanUpAfterEach();

test('a worker in another process runs an approved call in the trace of its request', async () => {
  const collector = await openOtlpCollector();
  onCleanup(collector.close);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const { http, port, tokens } = await install(env);
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'go'), '');
  const url = `http://127.0.0.1:${String(port)}`;
  const settings = {
    ...{ URL: url, AGENT: tokens.agent, WORKER: tokens.worker, GATED: 'yes' },
    ...env,
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'worker-sdk', 'telemetry.mjs')}`,
  };
  const asking = startAgent(folder, { ...settings, ROLE: 'ask' });
  await untilNoted(asking, 'asked');
  await asking.kill();
  const me = createClient({ url, token: tokens.me });
  const { approvals } = await me.listApprovals({ state: 'pending' });
  await me.respond(approvals[0]!.approvalId, { decision: { type: 'approve' } });
  startAgent(folder, { ...settings, ROLE: 'serve' });

  const trace = await eventually('the span of the report', () => {
    const of = collector.spans().find(({ name }) => name === 'execute_tool work')?.traceId;
    const spans = collector.spans().filter(({ traceId }) => traceId === of);
    return spans.some(({ name }) => name.endsWith('/outcome')) ? spans : undefined;
  });
  const spanOf = (name: string): ReceivedSpan | undefined => trace.find((span) => span.name === name);
  const request = spanOf('POST /v1/tool-calls');
  expect(request?.parentSpanId).toBeUndefined();
  const tool = spanOf('execute_tool work');
  expect(tool?.parentSpanId).toBe(request?.spanId);
  expect(attributesOf(tool)).toMatchObject({ 'gen_ai.tool.call.id': 'c1', 'gen_ai.conversation.id': 'run 1' });
  expect(spanOf('POST /v1/tool-calls/{callId}/outcome')?.parentSpanId).toBe(request?.spanId);
  expect(spanOf('execution succeeded')?.parentSpanId).toBe(request?.spanId);
  http.close();
});
