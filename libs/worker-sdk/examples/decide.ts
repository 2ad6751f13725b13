// A tool whose own code allows, asks or denies. The denied call is recorded, and no person is asked about it.
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const bookTrip = gateTool({
  name: 'book_trip',
  inputSchema: z.strictObject({ city: z.string(), price: z.number() }),
  decide: ({ city, price }) => {
    if (city === 'New York') return { deny: 'no trips to New York this year' };
    return price > 500 ? 'ask' : 'allow';
  },
  execute: ({ city }) => ({ booked: city }),
});

const worker = createWorker({
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [bookTrip],
});
const trip = (city: string, price: number) => ({ toolCallId: city, toolName: 'book_trip', arguments: { city, price } });

const { results } = await worker.step({ runId: 'trips', toolCalls: [trip('New York', 900), trip('Rome', 80)] });
for (const { status, message, output } of results) console.log(status, message ?? output);
await worker.close();
