import { isSpanContextValid } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
/** Two values that a client and its instrumentation sent, and a separator. */
const lengthMax = 120;

/**
 * The span that a W3C `traceparent` names; undefined when it is missing or malformed. The last of two values counts,
 * because an instrumentation of `fetch` adds its own to that of the client.
 */
export function parseTraceparent(header: string | string[] | undefined): SpanContext | undefined {
  if (typeof header !== 'string' || header.length > lengthMax) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = pattern.exec(header.split(',').at(-1)?.trim() ?? '') ?? [];
  // Only the flag for sampling has a meaning. The others are not passed on.
  const caller = { traceId, spanId, traceFlags: parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(caller) ? caller : undefined;
}

/** A span as a W3C `traceparent`. */
export function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${String(traceFlags & 1)}`;
}
