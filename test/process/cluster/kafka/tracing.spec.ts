import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { attributesOf, openOtlpCollector } from '@countersign/shell/testing';
import type { ReceivedSpan } from '@countersign/shell/testing';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import type { Worker } from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

const canary = `canary-${randomBytes(6).toString('hex')}`;
const moduleText = `export default {
  inputSchema: { type: 'object', properties: { secret: { type: 'string' } } },
  execute: async ({ secret }) => ({ echoed: secret }),
};`;

/** Only requested here: the service runs it. */
const pay = gateTool({
  name: 'pay',
  inputSchema: z.strictObject({ secret: z.string() }),
  execute: () => Promise.reject(new Error('the service runs this tool')),
});

function writeTools(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'pay.mjs'), moduleText);
  const file = join(folder, 'tools.json');
  writeFileSync(file, JSON.stringify({ tools: [{ name: 'pay', module: './pay.mjs' }] }));
  return file;
}

/** OpenTelemetry in this process, which is the agent's. */
function openTelemetry(endpoint: string): NodeTracerProvider {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  provider.register();
  onCleanup(() => provider.shutdown());
  return provider;
}

/** Asks inside a span of the agent, lets a person approve over HTTP, and waits for the result of the service's tool. */
async function payOnce(worker: Worker, url: string): Promise<void> {
  await trace.getTracer('agent').startActiveSpan('invoke_agent payer', async (span) => {
    const toolCalls = [{ toolCallId: 'call-1', toolName: 'pay', arguments: { secret: canary } }];
    const asked = await worker.step({ runId: 'run-1', toolCalls });
    const { approvalId, callId } = asked.pendingApprovals[0]!;
    const path = `/v1/approvals/${approvalId}/responses`;
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ann-token' },
      body: JSON.stringify({ decision: { type: 'approve' } }),
    });
    expect(answer.status).toBe(200);
    await eventually('the tool to succeed', async () => {
      const { state } = await worker.client.getToolCall(callId);
      return state === 'succeeded' ? true : undefined;
    });
    span.end();
  });
}

test('a call over Kafka is one trace: agent, requests topic, ledger, store, relay, events topic, resolver', async () => {
  const collector = await openOtlpCollector();
  onCleanup(collector.close);
  const more = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    COUNTERSIGN_TOOLS: writeTools(),
    COUNTERSIGN_REQUESTS_PRINCIPAL: 'agent',
  };
  const cluster = await openReachCluster({ env: {} }, { partitions: 1, more });
  const roles = await Promise.all(['gateway', 'ledger', 'relay', 'resolver'].map((role) => cluster.start(role)));
  await Promise.all(roles.map(({ server }) => cluster.untilReady(server)));
  const url = `http://127.0.0.1:${String(roles[0]!.port)}`;
  const telemetry = openTelemetry(collector.endpoint);
  const { brokers, topicPrefix } = cluster;
  const kafka = overKafka({ brokers, topicPrefix });
  const tokens = { token: 'agent-token', resolverToken: 'worker-token' };
  const worker = createWorker({ url, ...tokens, kafka, agentId: 'agent', tools: [pay] });
  onCleanup(() => worker.close());
  await payOnce(worker, url);
  await telemetry.forceFlush();
  await Promise.all(roles.map(({ server }) => server.stop()));

  const agentSpan = collector.spans().find(({ name }) => name === 'invoke_agent payer');
  const spans = collector.spans().filter(({ traceId }) => traceId === agentSpan?.traceId);
  const spanOf = (name: string): ReceivedSpan | undefined => spans.find((span) => span.name === name);
  const parentOf = (span: ReceivedSpan | undefined): ReceivedSpan | undefined =>
    spans.find(({ spanId }) => spanId === span?.parentSpanId);

  const asked = spanOf(`process ${topicPrefix}.requests.v1`);
  expect(parentOf(asked)?.name).toBe('invoke_agent payer');
  expect(attributesOf(asked)).toMatchObject({ 'messaging.system': 'kafka', 'messaging.operation.type': 'process' });
  for (const name of ['approval requested', 'approval responded', 'execution claimed', 'execution succeeded']) {
    expect([name, parentOf(spanOf(name))]).toEqual([name, asked]);
  }
  const tool = spanOf('execute_tool pay');
  expect(parentOf(tool)?.name).toBe(`process ${topicPrefix}.events.v1`);
  expect(parentOf(parentOf(tool))).toEqual(asked);
  expect(attributesOf(tool)).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': 'call-1',
    'gen_ai.agent.id': 'agent',
    'gen_ai.conversation.id': 'run-1',
  });
  for (const role of ['gateway', 'ledger', 'resolver']) {
    expect(collector.services()).toContainEqual({
      key: 'service.name',
      value: { stringValue: `countersign-${role}` },
    });
  }
  expect(collector.text()).not.toContain(canary);
}, 300_000);
