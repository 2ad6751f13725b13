import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { parseBody } from './absent-nulls.js';
import { createGrantSchema } from './grants.js';
import { requestToolCallsSchema } from './requests.js';
import { respondInBulkSchema, respondSchema } from './responding.js';

const call = { toolCallId: 'c1', toolName: 'delete_file', arguments: { path: null } };
const digest = `sha256:${'0'.repeat(64)}`;
const refusedPaths = (schema: z.ZodType, body: unknown) =>
  parseBody(schema, body).error?.issues.map(({ path }) => path.join('.'));

describe('a digest, or a revision, of one of many approvals', () => {
  it.each([
    ['proposalDigests', digest],
    ['shownDigests', digest],
    ['shownRevisions', 2],
    ['actionDigests', digest],
  ] as const)('is refused in %s for an id that is not named', (member, shown) => {
    const bulk = { approvalIds: ['a', 'b'], decision: { type: 'approve' } };
    expect(refusedPaths(respondInBulkSchema, { ...bulk, [member]: { a: shown, c: shown } })).toEqual([`${member}.c`]);
    expect(refusedPaths(respondInBulkSchema, { ...bulk, [member]: { a: shown } })).toBeUndefined();
  });
});

describe('null in a body', () => {
  it('means absent in an optional member, and stays a value in JSON that is only passed on', () => {
    const nulls = { allowedDecisions: null, expiresInMs: null, labels: null, title: null, metadata: null };
    const body = { runId: 'r', agentId: null, calls: [{ ...call, ...nulls, hints: { title: null } }] };
    expect(parseBody(requestToolCallsSchema, body).data).toEqual({ runId: 'r', calls: [{ ...call, hints: {} }] });
    const answer = { decision: { type: 'answer', output: null }, reason: null, remember: null };
    expect(parseBody(respondSchema, answer).data).toEqual({ decision: { type: 'answer', output: null } });
  });

  it('is refused for a required member, an item and the body itself', () => {
    expect(refusedPaths(requestToolCallsSchema, { runId: null, calls: [call] })).toEqual(['runId']);
    expect(refusedPaths(requestToolCallsSchema, { runId: 'r', calls: [null] })).toEqual(['calls.0']);
    expect(refusedPaths(requestToolCallsSchema, null)).toEqual(['']);
    const decision = { type: 'edit', arguments: null };
    expect(refusedPaths(respondSchema, { decision, reason: null })).toEqual(['decision.arguments']);
  });

  it('is refused for a value of a map: a label or a digest is not left out silently', () => {
    const labelled = { runId: 'r', agentId: null, calls: [{ ...call, labels: { team: null, site: 'b' } }] };
    expect(refusedPaths(requestToolCallsSchema, labelled)).toEqual(['calls.0.labels.team']);
    const bulk = { approvalIds: ['a'], decision: { type: 'deny' }, proposalDigests: { a: null } };
    expect(refusedPaths(respondInBulkSchema, bulk)).toEqual(['proposalDigests.a']);
    const grant = { toolName: 't', match: { digest }, expiresInMs: 1, reason: 'r', labels: { team: null } };
    expect(refusedPaths(createGrantSchema, grant)).toEqual(['labels.team']);
  });

  it.each([
    ['decision', { decision: null }, 'must be an object, not null'],
    ['decision.output', { decision: { type: 'answer' } }, 'is missing'],
    ['reason', { decision: { type: 'deny' }, reason: 'r'.repeat(8193) }, 'must have at most 8192 characters'],
    ['reason', { decision: { type: 'deny' }, reason: 7 }, 'must be text, not a number'],
    ['decision.type', { decision: { type: 'agree' } }, /approve.*answer/],
    ['decision.type', { decision: {} }, /approve.*answer/],
  ])('and every other fault is told in plain words: %s', (path, body, message) => {
    const issues = parseBody(respondSchema, body).error?.issues;
    expect(issues?.map((one) => one.path.join('.'))).toEqual([path]);
    expect(issues?.[0]?.message).toMatch(message);
  });

  it('hides no other fault', () => {
    const body = { runId: 7, agentId: null, calls: [call], more: null };
    expect(refusedPaths(requestToolCallsSchema, body)).toEqual(['runId', '']);
  });
});
