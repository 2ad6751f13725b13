import { messageOf } from '../errors.js';
import type { connectKafka as connect } from './connection.js';

/** Connects to the two topics. It loads kafkajs first: without it the entrance can still be imported. */
export const connectKafka: typeof connect = async (options) => (await loadConnection()).connectKafka(options);

async function loadConnection(): Promise<{ readonly connectKafka: typeof connect }> {
  try {
    return await import('./connection.js');
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !messageOf(error).includes('kafkajs')) throw error;
    throw new TypeError('createWorker was given `kafka`, which needs kafkajs 2: npm install kafkajs', { cause: error });
  }
}
