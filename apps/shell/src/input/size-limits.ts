import { limits } from '@countersign/contracts';
import type { FieldError } from '@countersign/contracts';

// Looked at before zod: a request that is far too large must not be validated call by call first.

/** JSON can be longer written again than it was: `1e15` is written with 16 digits. */
const growthMax = 6;

/** The parts of a request for calls that are too large: their number, or the arguments of one. */
export function oversizeCalls(body: unknown, bodyBytes: number): FieldError[] {
  const calls = memberOf(body, 'calls');
  if (!Array.isArray(calls)) return [];
  if (calls.length > limits.callsPerRequestMax) {
    return [{ path: 'calls', message: `holds more than ${String(limits.callsPerRequestMax)} calls` }];
  }
  const bytesMax = { arguments: limits.argumentsBytesMax, metadata: limits.metadataBytesMax };
  const members = (['arguments', 'metadata'] as const).filter((name) => bodyBytes * growthMax > bytesMax[name]);
  if (members.length === 0) return [];
  return calls.flatMap((call: unknown, index) =>
    members.flatMap((name) => oversize(memberOf(call, name), `calls.${String(index)}.${name}`, bytesMax[name])),
  );
}

/** The parts of a response that are too large: the arguments of an edit. */
export function oversizeEdit(body: unknown, bodyBytes: number): FieldError[] {
  if (bodyBytes * growthMax <= limits.argumentsBytesMax) return [];
  return oversize(memberOf(memberOf(body, 'decision'), 'arguments'), 'decision.arguments');
}

function oversize(value: unknown, path: string, bytesMax: number = limits.argumentsBytesMax): FieldError[] {
  if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytesMax) return [];
  return [{ path, message: `has more than ${String(bytesMax)} bytes of JSON` }];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
