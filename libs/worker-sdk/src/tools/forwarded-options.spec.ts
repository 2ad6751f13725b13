import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { checkGating, forwardedOptions } from './forwarded-options.js';
import { gateTool } from './gate-tool.js';

it.each(['expiresInMS', 'needApproval', 'execute'])('refuses %s, which is no option of a gate', (member) => {
  const why = `tool refund: the gate does not take \`${member}\`: it is no option of it`;
  expect(() => checkGating('refund', { labels: {}, [member]: true })).toThrow(new TypeError(why));
});

it('takes every option of a gate, and one that is undefined', () => {
  checkGating('refund', {
    needsApproval: true,
    expiresInMs: 1000,
    allowedDecisions: ['deny'],
    needApproval: undefined,
  });
});

it('forwards the options of the framework, and says why it refuses another one', () => {
  const table = { own: ['name'], forwarded: ['strict'], refused: { timeoutMs: 'use `toolTimeoutMs`' } } as const;
  expect(forwardedOptions('refund', { name: 'refund', strict: true, idempotent: true }, table)).toEqual({
    strict: true,
  });
  const slow = { name: 'refund', strict: true, timeoutMs: 1 };
  expect(() => forwardedOptions('refund', slow, table)).toThrow('does not take `timeoutMs`: use `toolTimeoutMs`');
});

it('gateTool refuses a decision that there is not', () => {
  const allowedDecisions = ['deny', 'aprove'] as unknown as readonly 'deny'[];
  const tool = { name: 'refund', inputSchema: z.object({}), allowedDecisions, execute: () => 1 };
  const why = 'tool refund: `allowedDecisions` has aprove: a decision is approve, edit, deny, answer';
  expect(() => gateTool(tool)).toThrow(new TypeError(why));
});
