import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attributesOf, openOtlpCollector } from '@countersign/shell/testing';
import type { OtlpCollector, ReceivedSpan } from '@countersign/shell/testing';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { openReach } from './channels/reach.js';

const agent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const person = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const toTraceparent = ({ traceId, spanId }: typeof agent): string => `00-${traceId}-${spanId}-01`;

const canary = 'canary-7f3kq';
const moduleText = `export default {
  inputSchema: { type: 'object', properties: { secret: { type: 'string' } } },
  execute: async ({ secret }) => ({ echoed: secret }),
};`;

test('a stop ends well and in time although the collector never answers', async () => {
  const collector = await openOtlpCollector('never');
  const { http, tokens, server } = await install({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const calls = [{ toolCallId: 'call-1', toolName: 'pay', arguments: {} }];
  const body = { runId: 'run-1', calls };
  const requested = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
  expect(requested.status).toBe(201);
  // After 10 s the process ends by force, with 1.
  expect(await server().stop()).toEqual({ code: 0, signal: null });
  expect(server().output()).toContain('the last spans may be lost');
  await collector.close();
  http.close();
});

describe('the trace of a call that a person approved and the service ran', () => {
  cleanUpAfterAll();
  let collector: OtlpCollector;
  let trace: readonly ReceivedSpan[];

  beforeAll(async () => {
    collector = await openOtlpCollector();
    onCleanup(collector.close);
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'pay.mjs'), moduleText);
    writeFileSync(join(folder, 'tools.json'), JSON.stringify({ tools: [{ name: 'pay', module: './pay.mjs' }] }));
    const { env } = await openReach(['{ to: [pager] }']);
    const { http, tokens, server } = await install({
      ...env,
      COUNTERSIGN_TOOLS: join(folder, 'tools.json'),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
    });
    const requested = await http.send({
      method: 'POST',
      path: '/v1/tool-calls',
      token: tokens.agent,
      headers: { traceparent: toTraceparent(agent) },
      body: { runId: 'run-1', calls: [{ toolCallId: 'call-1', toolName: 'pay', arguments: { secret: canary } }] },
    });
    expect(requested.status).toBe(201);
    const { calls } = requested.body as { calls: { callId: string; approval: { approvalId: string } }[] };
    const [{ callId, approval }] = calls as [(typeof calls)[0]];
    await eventually('the message to be delivered', async () => {
      const { text } = await http.send({ method: 'GET', path: '/v1/audit/events?limit=100', token: tokens.me });
      return text.includes('NotificationDelivered') ? true : undefined;
    });
    await http.send({
      method: 'POST',
      path: `/v1/approvals/${approval.approvalId}/responses`,
      token: tokens.me,
      headers: { traceparent: toTraceparent(person) },
      body: { decision: { type: 'approve' }, reason: canary },
    });
    await eventually('the tool to succeed', async () => {
      const path = `/v1/tool-calls/${callId}?waitMs=5000&until=settled`;
      const { body } = await http.send({ method: 'GET', path, token: tokens.agent });
      return (body as { state: string }).state === 'succeeded' ? true : undefined;
    });
    const erased = await http.send({
      method: 'POST',
      path: '/v1/subjects/erase',
      token: tokens.me,
      body: { subject: canary },
    });
    expect(erased.status).toBe(200);
    expect((await server().stop()).code).toBe(0);
    trace = collector.spans().filter(({ traceId }) => traceId === agent.traceId);
  });

  const spanOf = (name: string): ReceivedSpan => {
    const span = trace.find((one) => one.name === name);
    if (span === undefined) throw new Error(`no span ${name} among ${trace.map((one) => one.name).join(', ')}`);
    return span;
  };
  const topic = 'process countersign.events.v1';

  test('has the request, the question, the message, the answer, the claim, the tool and its result', () => {
    const request = spanOf('POST /v1/tool-calls');
    expect(request.parentSpanId).toBe(agent.spanId);
    const events = ['tool call requested', 'approval requested', 'approval responded', 'notification delivered'];
    for (const name of [...events, 'execution claimed', 'execution succeeded', 'send pager', topic]) {
      expect([name, spanOf(name).parentSpanId]).toEqual([name, request.spanId]);
    }
  });

  test('has the tool inside the handling of the answer', () => {
    const parent = trace.find(({ spanId }) => spanId === spanOf('execute_tool pay').parentSpanId);
    expect(parent?.name).toBe(topic);
    const messaging = { 'messaging.system': 'countersign', 'messaging.consumer.group.name': 'resolver' };
    expect(attributesOf(parent)).toMatchObject(messaging);
  });

  test('names the tool, the agent and the run as the conventions for generative AI do', () => {
    const named = {
      'gen_ai.tool.name': 'pay',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.agent.id': 'agent',
      'gen_ai.conversation.id': 'run-1',
    };
    const tool = attributesOf(spanOf('execute_tool pay'));
    expect(tool).toMatchObject({ ...named, 'gen_ai.operation.name': 'execute_tool' });
    for (const name of ['approval requested', 'send pager', 'execution succeeded']) {
      expect(attributesOf(spanOf(name))).toMatchObject(named);
    }
  });

  test('links the answer to the request of the person, which has a trace of its own', () => {
    const responded = spanOf('approval responded');
    expect(attributesOf(responded)).toMatchObject({ 'countersign.resolution': 'approved' });
    const [link] = responded.links ?? [];
    const cause = collector.spans().find(({ spanId }) => spanId === link?.spanId);
    expect(cause).toMatchObject({ traceId: person.traceId, parentSpanId: person.spanId });
    expect(cause?.name).toBe('POST /v1/approvals/{approvalId}/responses');
  });

  test('names the tenant with each span of ours, since an agent may take the trace of another tenant', () => {
    for (const name of ['POST /v1/tool-calls', 'approval responded', 'execute_tool pay', 'send pager']) {
      expect([name, attributesOf(spanOf(name))['countersign.tenant']]).toEqual([name, 'default']);
    }
  });

  test('belongs to a service with the attributes of the environment', () => {
    const service = collector.services();
    expect(service).toContainEqual({ key: 'service.name', value: { stringValue: 'countersign' } });
    expect(service).toContainEqual({ key: 'deployment.environment.name', value: { stringValue: 'staging' } });
  });

  test('has the spans of other requests, also where their answer only counts calls', () => {
    const erasure = collector.spans().find(({ name }) => name === 'POST /v1/subjects/erase');
    expect(attributesOf(erasure)).toMatchObject({ 'http.response.status_code': 200 });
  });

  test('holds nothing of what the tool was given or answered', () => {
    expect(collector.text()).not.toContain(canary);
  });
});
