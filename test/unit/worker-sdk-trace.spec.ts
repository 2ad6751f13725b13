import { createWorker, gateTool } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';

const spans = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });

beforeAll(() => {
  trace.setGlobalTracerProvider(provider);
});

afterEach(() => {
  spans.reset();
});

afterAll(async () => {
  trace.disable();
  await provider.shutdown();
});

/** The span of a tool of a worker that fails with an error of this name. */
async function spanOfFailure(name: string) {
  const { fetch } = createFakeCountersign();
  const pay = gateTool({
    name: 'pay',
    inputSchema: z.strictObject({ card: z.string() }),
    execute: () => Promise.reject(Object.assign(new Error('no funds'), { name })),
  });
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [pay], fetch, attempts: 1 });
  const call = { runId: 'run-1', toolCallId: 'call-1', toolName: 'pay', arguments: { card: '4111' } };
  const { result } = await worker.call(call);
  expect(result?.status).toBe('failed');
  await worker.close();
  return spans.getFinishedSpans().find((span) => span.name === 'execute_tool pay');
}

it('names the class of an error', async () => {
  expect((await spanOfFailure('PaymentRefusedError'))?.attributes['error.type']).toBe('PaymentRefusedError');
});

it.each(['card 4111 was refused', 'E'.repeat(10_000), ''])(
  'takes no text of a tool for the name of a class (%#)',
  async (name) => {
    const span = await spanOfFailure(name);
    expect(span?.attributes['error.type']).toBe('Error');
    expect(JSON.stringify([span?.attributes, span?.events, span?.status])).not.toMatch(/4111|no funds/);
  },
);
