import { parseVkey } from '../verifier-key.js';
import { parseShown } from './parse-stored.js';

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
  /** A key of the log, under the name of its origin. It proves nothing. Null or absent: there is none. */
  readonly vkey?: string | null;
  readonly checkpoint: string;
  readonly events: readonly ProofFileEvent[];
  /** Each change of the log key before the checkpoint, so that its old key is enough. Absent: there was none. */
  readonly keyChanges?: readonly ProofFileEvent[];
  readonly policies: readonly { readonly policyVersion: string; readonly content: unknown }[];
  /** Only the whole log can show that nothing followed. */
  readonly later: 'not excluded';
}

const format = 'countersign-proof/1';

/**
 * Reads a proof file without verifying it. Undefined for a text that is none. Attack: an honest proof with a member that nothing
 * covers, which a person reads. So it has no others than these.
 */
export function parseProofFile(text: string): ProofFile | undefined {
  const file = recordOf(parseShown(text));
  if (file === undefined || !isOfForm(file) || !hasOnly(file, members) || !hasKeyOf(file)) return undefined;
  const { events, policies, keyChanges = [] } = file;
  const isRead = areAll(events, isProofEvent) && areAll(keyChanges, isProofEvent) && areAll(policies, isPolicy);
  return isRead ? (file as unknown as ProofFile) : undefined;
}

function isOfForm({ tenant, origin, callId, checkpoint, ...file }: Readonly<Record<string, unknown>>): boolean {
  const texts = [tenant, origin, callId, checkpoint];
  return file['format'] === format && file['later'] === 'not excluded' && texts.every((one) => typeof one === 'string');
}

/** Attack: words in the place of the key, which a person reads. */
function hasKeyOf({ vkey, origin }: Readonly<Record<string, unknown>>): boolean {
  return vkey === null || vkey === undefined || (typeof vkey === 'string' && parseVkey(vkey)?.name === origin);
}

function areAll(values: unknown, fits: (value: unknown) => boolean): boolean {
  return Array.isArray(values) && values.every(fits);
}

/** Returns whether a value has the form of an event with its proof. */
export function isProofEvent(value: unknown): value is ProofFileEvent {
  const event = recordOf(value);
  if (event === undefined || !hasOnly(event, ['index', 'entry', 'body', 'proof'])) return false;
  const { index, entry, body, proof } = event;
  const content = recordOf(body);
  const isBody = body === null || (content !== undefined && hasOnly(content, ['data', 'metadata']));
  return Number.isSafeInteger(index) && typeof entry === 'string' && typeof proof === 'string' && isBody;
}

function isPolicy(value: unknown): boolean {
  const policy = recordOf(value);
  return typeof policy?.['policyVersion'] === 'string' && hasOnly(policy, ['policyVersion', 'content']);
}

const members = [
  ...['format', 'tenant', 'origin', 'callId', 'vkey', 'checkpoint', 'events', 'keyChanges', 'policies', 'later'],
];

function hasOnly(value: object, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
}
