import { parseStored } from './parse-stored.js';

/** An event of a proof file. */
export interface ProofFileEvent {
  readonly index: number;
  readonly entry: string;
  /** Null: the entry has its hash alone. */
  readonly body: { readonly data: unknown; readonly metadata: unknown } | null;
  readonly proof: string;
}

/** What `countersign audit prove` writes: the events of a call, each with the proof that it is in the log. */
export interface ProofFile {
  readonly tenant: string;
  readonly origin: string;
  readonly callId: string;
  readonly checkpoint: string;
  readonly events: readonly ProofFileEvent[];
  readonly policies: readonly { readonly policyVersion: string; readonly content: unknown }[];
}

const format = 'countersign-proof/1';

/** Reads a proof file without verifying it. Undefined for a text that is none. */
export function parseProofFile(text: string): ProofFile | undefined {
  const file = recordOf(parseStored(text));
  if (file?.['format'] !== format) return undefined;
  const { tenant, origin, callId, checkpoint, events, policies } = file;
  const texts = [tenant, origin, callId, checkpoint];
  if (!texts.every((one) => typeof one === 'string') || !Array.isArray(events) || !Array.isArray(policies)) {
    return undefined;
  }
  const isRead = events.every(isEvent) && policies.every((one) => typeof recordOf(one)?.['policyVersion'] === 'string');
  return isRead ? (file as unknown as ProofFile) : undefined;
}

function isEvent(value: unknown): boolean {
  const event = recordOf(value);
  if (event === undefined) return false;
  const { index, entry, body, proof } = event;
  const isBody = body === null || recordOf(body) !== undefined;
  return Number.isSafeInteger(index) && typeof entry === 'string' && typeof proof === 'string' && isBody;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
}
