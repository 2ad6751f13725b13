import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { KafkaRequests } from '../ledger/kafka-requests.js';
import { createWorker } from '../worker.js';
import type { KafkaOptions, SigningKey } from './options.js';
import { kafka } from './open-requests.js';

const brokers = ['127.0.0.1:9092'];
const workerWith = (requests: KafkaRequests) =>
  createWorker({ kafka: requests, url: 'http://ledger.test', token: 't', agentId: 'agent', tools: [] });
const signing = (privateKey: string | SigningKey): KafkaOptions => ({
  brokers,
  signing: { kid: 'agent-2026', privateKey },
});
const key = generateKeyPairSync('ed25519').privateKey;

describe('the requests of a worker over Kafka', () => {
  it('need a broker', () => {
    expect(() => kafka({ brokers: [] })).toThrow('kafka.brokers names no broker');
  });

  it('are made by the entrance for Kafka: bare options are refused, with the remedy', () => {
    const options: unknown = { brokers };
    expect(() => workerWith(options as KafkaRequests)).toThrow(/kafka\(\) of @countersign\/worker-sdk\/kafka/);
  });

  it('are signed with a key in PEM or with a KeyObject', () => {
    const pem = key.export({ type: 'pkcs8', format: 'pem' });
    for (const privateKey of [pem, key]) expect(() => workerWith(kafka(signing(privateKey)))).not.toThrow();
  });

  it('are not signed with an object that only looks like a KeyObject', () => {
    const alike: SigningKey = { type: 'private', asymmetricKeyType: 'ed25519', equals: () => false };
    expect(() => workerWith(kafka(signing(alike)))).toThrow(/must be a private Ed25519 or P-256 key/);
  });
});
