import { openTracing } from '@countersign/shell';
import type { Tracing } from '@countersign/shell';
import { attributesOf, openOtlpCollector } from '@countersign/shell/testing';
import type { OtlpCollector, ReceivedSpan } from '@countersign/shell/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let collector: OtlpCollector;
let tracing: Tracing | undefined;
let world: World;
let api: Api;

beforeAll(async () => {
  collector = await openOtlpCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`, OTEL_SERVICE_NAME: 'approvals' };
  tracing = await openTracing({ service: 'countersign', env, log: createCollectingLog() });
  world = await openWorld({ change: (ports) => ({ ...ports, tracing }) });
  api = createApi(world);
});

afterAll(async () => {
  await world.close();
  await collector.close();
});

describe('the spans of requests', () => {
  const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  let callId: string;

  beforeAll(async () => {
    const requested = await api.send<{ calls: { callId: string }[] }>('POST', '/v1/tool-calls', {
      headers: { traceparent: `00-${caller.traceId}-${caller.spanId}-01` },
      body: {
        runId: 'run-traced',
        calls: [{ toolCallId: 'a', toolName: 'refund', arguments: { note: 'for nobody else' }, needsApproval: true }],
      },
    });
    callId = requested.body.calls[0]?.callId ?? '';
    const approvalId = `apr_${callId.slice(3)}_1`;
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      headers: { traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01' },
      body: { decision: { type: 'answer', output: { secretly: 'paid by hand' } } },
    });
    await api.send('GET', '/v1/runs/run-traced', { as: 'ann' });
    await api.send('POST', `/v1/tool-calls/${callId}/claim`, { as: 'ann', body: { resolverId: 'r' } });
    await api.send('GET', '/healthz', { as: null });
    await tracing?.close();
  });

  const spanOf = (name: string): ReceivedSpan | undefined => collector.spans().find((span) => span.name === name);

  it('name the route, the ids and the status', () => {
    const span = spanOf('POST /v1/approvals/{approvalId}/responses');
    expect(span?.kind).toBe(2);
    expect(attributesOf(span)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/approvals/{approvalId}/responses',
      'http.response.status_code': 200,
      'countersign.tenant': 'default',
      'countersign.approval_id': `apr_${callId.slice(3)}_1`,
    });
  });

  it('name the calls that a request made', () => {
    const { values } = attributesOf(spanOf('POST /v1/tool-calls'))['countersign.call_ids'] as { values: unknown[] };
    expect(values).toEqual([{ stringValue: callId }]);
  });

  it('continue the trace of the caller', () => {
    expect(spanOf('POST /v1/tool-calls')).toMatchObject({ traceId: caller.traceId, parentSpanId: caller.spanId });
  });

  it('start a trace of their own where the caller sent none, or a broken one', () => {
    for (const name of ['POST /v1/approvals/{approvalId}/responses', 'GET /v1/runs/{runId}']) {
      const span = spanOf(name);
      expect(span?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(span?.traceId).not.toBe(caller.traceId);
      expect(span?.parentSpanId).toBeUndefined();
    }
  });

  it('are made of refusals too, whose status is no error of ours', () => {
    const span = spanOf('POST /v1/tool-calls/{callId}/claim');
    expect(attributesOf(span)).toMatchObject({ 'http.response.status_code': 403, 'countersign.call_id': callId });
    expect(span?.status.code).toBe(0);
  });

  it('are not made of probes', () => {
    expect(collector.spans()).toHaveLength(4);
  });

  it('belong to the service that the environment names', () => {
    expect(collector.services()).toContainEqual({ key: 'service.name', value: { stringValue: 'approvals' } });
  });

  it('hold nothing of what tools are given or answer', () => {
    expect(collector.text()).not.toMatch(/nobody else|by hand/);
  });
});

it('without an endpoint there is no tracing', async () => {
  const log = createCollectingLog();
  expect(await openTracing({ service: 'countersign', env: {}, log })).toBeUndefined();
  const off = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_SDK_DISABLED: 'true' };
  expect(await openTracing({ service: 'countersign', env: off, log })).toBeUndefined();
});

it('a refusal of the collector is logged and delays no request', async () => {
  const broken = await openOtlpCollector(400);
  const log = createCollectingLog();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: broken.endpoint };
  const refused = await openTracing({ service: 'countersign', env, log });
  const end = refused?.requestStarted({
    method: 'GET',
    route: '/v1/runs/{runId}',
    traceparent: undefined,
    ids: {},
    tenant: 'default',
  });
  end?.({ status: 200, callIds: [] });
  await refused?.close();
  await broken.close();
  expect(log.entries.map(({ message }) => message)).toContain('spans were not delivered');
});
