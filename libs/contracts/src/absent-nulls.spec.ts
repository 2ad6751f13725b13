import { describe, expect, it } from '@jest/globals';
import { requestToolCallsSchema, respondSchema } from '@countersign/contracts';
import type { z } from 'zod';
import { withAbsentNulls } from './absent-nulls.js';

const cleaned = (schema: z.ZodType, body: unknown): unknown => {
  const { error } = schema.safeParse(body);
  return error === undefined ? body : withAbsentNulls(schema, body, error);
};
const call = { toolCallId: 'c1', toolName: 'delete_file', arguments: { path: null } };

describe('null in a body', () => {
  it('means absent in an optional member, and stays a value in JSON that is only passed on', () => {
    const body = { runId: 'r', agentId: null, calls: [{ ...call, allowedDecisions: null, expiresInMs: null }] };
    expect(cleaned(requestToolCallsSchema, body)).toEqual({ runId: 'r', calls: [call] });
  });

  it('is refused for a required member, an item and the body itself', () => {
    for (const body of [{ runId: null, calls: [call] }, { runId: 'r', calls: [null] }, null])
      expect(cleaned(requestToolCallsSchema, body)).toEqual(body);
    const decision = { type: 'edit', arguments: null };
    expect(cleaned(respondSchema, { decision, reason: null })).toEqual({ decision });
  });

  it('hides no other fault', () => {
    const body = { runId: 7, agentId: null, calls: [call], more: null };
    expect(cleaned(requestToolCallsSchema, body)).toEqual({ runId: 7, calls: [call], more: null });
  });
});
