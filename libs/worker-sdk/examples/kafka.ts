// An agent that uses messages: requests go to Kafka, and decisions arrive on the events topic.
import { readFileSync, unlinkSync } from 'node:fs';
import { createWorker, gateTool, type Step, type StepOutcome } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';

const deleteFile = gateTool({
  name: 'delete_file',
  inputSchema: z.strictObject({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => {
    unlinkSync(path);
    return { deleted: path };
  },
});

const worker = createWorker({
  kafka: kafka({ brokers: ['127.0.0.1:9092'] }),
  url: 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [deleteFile],
});

/** The same with a key that the operator has registered, over TLS, signed in with a password. */
export const signing = createWorker({
  kafka: kafka({
    brokers: ['kafka-1.example.com:9093', 'kafka-2.example.com:9093'],
    ssl: { ca: readFileSync('ca.pem') },
    sasl: { mechanism: 'scram-sha-512', username: 'agent', password: process.env['KAFKA_PASSWORD'] ?? '' },
    signing: { kid: 'agent-2026', privateKey: readFileSync('agent-2026.pem', 'utf8') },
  }),
  url: 'https://countersign.example.com',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [deleteFile],
});

/** Runs one step of the agent to its end. */
export async function runStep(step: Step): Promise<StepOutcome> {
  try {
    return await worker.run(step);
  } finally {
    await worker.close();
  }
}
