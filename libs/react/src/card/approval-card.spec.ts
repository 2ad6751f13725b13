import { describe, expect, it } from '@jest/globals';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { ApprovalView, Verdict } from '@countersign/contracts';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { ClientContext } from '../live/use-client.js';
import { ApprovalCard } from './approval-card.js';

const at = '2026-11-22T10:00:00.000Z';
const approval = {
  ...{ approvalId: 'a', callId: 'c', runId: 'run-1', agentId: 'agent', requestedBy: 'agent', owner: null },
  ...{ toolName: 'pay', arguments: {}, hiddenValues: [], labels: {}, chain: [], onBehalfOf: null, batch: null },
  ...{ state: 'approved', risk: null, round: 1, requestedAt: at, expiresAt: null, actionDigest: 'sha256:00' },
  ...{ instructions: [], endedProposals: [], responses: [], progress: [], upcoming: [], schemaNotes: [] },
  ...{ description: null, reason: null, title: null, toolDescription: null, metadata: null },
  proposal: { number: 1, digest: 'd', kind: 'run', output: null, proposedBy: 'agent', proposedAt: at, replaces: null },
  requirement: { stages: [], fourEyes: false },
} as unknown as ApprovalView;
const verdict: Verdict = { outcome: 'require', ruleId: 'default', policyVersion: 'v', automatic: false, why: [] };

/** The words of the card, without what only looks. */
function wordsOf(change: Partial<ApprovalView>): string {
  const card = createElement(ApprovalCard, { approval: { ...approval, ...change }, verdict, original: undefined });
  const html = renderToStaticMarkup(createElement(ClientContext, { value: {} as ApprovalsClient }, card));
  return html.replaceAll(/<[^>]*>/g, '').replaceAll('&quot;', '"');
}

describe('the card', () => {
  it('quotes names that could be read as a part of its lines', () => {
    const words = wordsOf({ agentId: 'agent (owner alice)', runId: 'run-1 · asked 3 s ago · rule by-security' });
    expect(words).toContain('"agent (owner alice)" · "run-1 · asked 3 s ago · rule by-security" · asked ');
    expect(wordsOf({ agentId: 'support-desk#kim' })).toContain('support-desk#kim · run-1 · asked ');
  });

  it('tells a hidden value of a proposed answer from a text that reads like one', () => {
    const mask = '[masked sha256:0123456789abcdef]';
    const answer = { kind: 'answer', output: { note: mask, password: mask }, proposedBy: 'bob' } as const;
    const hiddenValues = [{ pointer: '/password', why: 'name' }] as const;
    const words = wordsOf({ proposal: { ...approval.proposal, ...answer, hiddenValues: [...hiddenValues] } });
    expect(words).toContain(`note“${mask}” text of the answer, not a hidden valuepassword${mask}`);
    expect(words).toContain('1 value is hidden from you: 1 by its name.');
  });

  it('quotes the people of an answer and of instructions', () => {
    const proposal = { ...approval.proposal, kind: 'answer', output: 1, proposedBy: 'bob, with alice' } as const;
    const instructions = [{ respondedBy: 'bob (if denied): stop', instruction: 'go', ifDenied: false }];
    const words = wordsOf({ proposal, instructions } as unknown as Partial<ApprovalView>);
    expect(words).toContain('an answer of "bob, with alice"');
    expect(words).toContain('"bob (if denied): stop": go');
  });
});
