import type { PastErasure } from '@countersign/contracts';
import { printable } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { wrapped } from '../view/line.js';

/** The options of `countersign audit erasures`. */
export interface AuditErasuresOptions {
  readonly call?: string;
}

/** A log of millions of events takes a while. */
const timeoutMs = 180_000;

/** `countersign audit erasures`: prints the erasures that are recorded about a subject or a call. */
export async function auditErasures(
  invocation: Invocation,
  subject: string | undefined,
  { call }: AuditErasuresOptions,
): Promise<ExitCode> {
  const { client, columns } = invocation;
  const asked = { ...(subject !== undefined && { subject }), ...(call !== undefined && { callId: call }) };
  const query = new URLSearchParams(asked).toString();
  const found = await client.get<{ readonly erasures: readonly PastErasure[] }>(
    `/v1/audit/erasures${query === '' ? '' : `?${query}`}`,
    {
      timeoutMs,
    },
  );
  invocation.printJson(found);
  const lines =
    found.erasures.length === 0
      ? [
          `No erasure is recorded${subject === undefined ? '' : ` of ${subject}`}${call === undefined ? '' : ` of values of call ${call}`}.`,
        ]
      : found.erasures.flatMap(erasureLines);
  invocation.print(...lines.flatMap((line) => wrapped(printable(line), columns, undefined, 2)));
  return exitCodes.ok;
}

function erasureLines(erasure: PastErasure): readonly string[] {
  const { erasedBy, erasedAt, reason, requestedBy, values, clearValues, calls, complete } = erasure;
  const { eventId, position, stream } = erasure;
  return [
    `${erasedAt}  erased by ${erasedBy}${reason === null ? '' : `: ${reason}`}`,
    ...(requestedBy === null ? [] : [`  only calls of ${requestedBy}`]),
    `  values: ${String(values)}${clearValues === 0 ? '' : `; in clear and not erased: ${String(clearValues)}`}`,
    ...calls.map(({ callId, fields }) => `  ${callId}  ${fields.join(', ')}`),
    ...(complete ? [] : ['  and more calls']),
    `  proof: event ${eventId} at position ${String(position)}, stream ${stream}`,
  ];
}
