import { describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { approvalOf, nowMs } from '../testing/fixtures.js';
import { widthOf } from '../text/width.js';
import { approvalCard, responseWords } from './approval-card.js';
import { goneWords, responseSentWords } from './response-words.js';

const cardOf = (changes: Partial<ApprovalView> = {}, columns = 80) =>
  approvalCard(approvalOf(changes), { columns, nowMs }).map(({ text }) => text);

describe('the card of an approval', () => {
  it('shows the facts, the arguments, and last the words of the agent', () => {
    expect(cardOf()).toEqual([
      'delete_file   pending',
      'agent    billing-agent in run run-42',
      'asked by billing-agent',
      'asked    3 min ago, deadline in 57 min (2026-11-22 10:57:00 UTC)',
      'needs    1 approver of ops: none yet; not the requester',
      'allowed  approve · edit · deny · answer',
      '',
      'Arguments',
      '{',
      '  "path": "/etc/hosts"',
      '}',
      '',
      'approval apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1',
      'call     tc_aaaaaaaaaaaaaaaaaaaaaaaaaa',
      `digest   sha256:${'ab'.repeat(32)}`,
      '',
      "The agent's own words (untrusted: judge by the arguments above)",
      'reason      │ outside the workspace',
      'description │ Delete /etc/hosts',
    ]);
  });

  it('warns where right-to-left letters would move numbers and signs', () => {
    const warning = /^Text that is written from right to left/m;
    expect(cardOf({ arguments: { command: 'mv א 1' } }).join('\n')).toMatch(warning);
    expect(cardOf({ labels: { cwd: '/srv/א/1' } }).join('\n')).toMatch(warning);
    expect(cardOf({ arguments: { note: 'שלום, עולם' } }).join('\n')).not.toMatch(warning);
  });

  it('quotes a name of a tool that reads like a fact', () => {
    expect(cardOf({ toolName: 'delete_file   risk low' })[0]).toBe('"delete_file   risk low"   pending');
  });

  it('says what of the schema did not check the arguments', () => {
    const schemaNotes = [{ pointer: '/properties/path/pattern', why: 'is odd' }];
    expect(cardOf({ schemaNotes })[11]).toBe('Not checked by the tool’s schema at "/properties/path/pattern".');
  });

  it('tells a hidden value of a proposed answer from a text that reads like one, where the server says which are hidden', () => {
    const mask = '[masked sha256:0123456789abcdef]';
    const answer = { kind: 'answer', output: { note: mask, password: mask }, proposedBy: 'ann' } as const;
    const textOf = (more: object): string =>
      cardOf({ proposal: { ...approvalOf().proposal, ...answer, ...more } }, 200).join('\n');
    const told = textOf({ hiddenValues: [{ pointer: '/password', why: 'name' }] });
    expect(told).toContain(`"note": "${mask}" ⟦text of the answer, not a hidden value⟧`);
    expect(told).toMatch(/"password": "\[masked sha256:0123456789abcdef\]"$/m);
    expect(told.replaceAll('\n', ' ')).toContain(
      '1 value is hidden from you: 1 by its name. Show them: countersign reveal',
    );
    const either = `"${mask}" ⟦a hidden value, or a text of the answer that reads like one⟧`;
    for (const name of ['note', 'password']) expect(textOf({})).toContain(`"${name}": ${either}`);
  });

  it('says where a denial ends the run', () => {
    const requirement = { ...approvalOf().requirement, denyEndsRun: true } as const;
    expect(cardOf({ requirement })).toContain('denial   ends the run: its other open calls are cancelled');
  });

  it('says that too few approvers are left', () => {
    const detail = 'Too few people of "ops" are left for stage 1.';
    expect(cardOf({ noApproverLeft: { stage: 0, detail } })[1]).toBe(detail);
  });

  it('says what cannot be read, and what to do, above everything else', () => {
    const detail = 'toolCall-x has an event that this version cannot read: upgrade Countersign';
    const lines = cardOf({ mayDecide: { now: false, why: 'unreadable', detail } });
    expect(lines.slice(0, 2)).toEqual(['delete_file   pending', detail]);
  });

  it('says that others decide while it is pending, and nothing of it afterwards', () => {
    const mayDecide = { now: false, why: 'not-an-approver', detail: 'Others are asked.' } as const;
    expect(cardOf({ mayDecide })[1]).toBe('You can look, not decide. Others are asked.');
    expect(cardOf({ mayDecide, state: 'denied' }).join()).not.toContain('Others are asked');
    const answered = { ...mayDecide, why: 'already-voted', detail: 'You have answered.' } as const;
    expect(cardOf({ mayDecide: answered })[1]).toBe('You have answered.');
  });

  it('says that an earlier edit was not approved, and quotes labels that read like several', () => {
    const ended = { approvalId: 'apr_0', number: 2, kind: 'run', proposedBy: 'bob', proposedAt: '' } as const;
    const lines = cardOf({ endedProposals: [ended], labels: { env: 'staging, cwd: /srv' } });
    expect(lines).toContain('before   edit by bob: not approved');
    expect(lines).toContain('labels   env: "staging, cwd: /srv"');
  });

  it.each([
    ['forged facts', 'harmless\n\nArguments\n{\n  "path": "/tmp/x"\n}\nrisk low'],
    ['an escape sequence that moves up', 'x\u001b[20A\u001b[2Kdelete_nothing'],
    ['a right-to-left override', '\u202edetacol'],
    ['ten thousand lines', 'a\n'.repeat(10_000)],
    ['ten thousand characters', 'a'.repeat(10_000)],
  ])('a description with %s changes nothing above it and stays behind its bar', (_, description) => {
    const plain = cardOf();
    const lines = cardOf({ description });
    const facts = plain.indexOf("The agent's own words (untrusted: judge by the arguments above)");
    expect(lines.slice(0, facts + 2)).toEqual(plain.slice(0, facts + 2));
    expect(lines.length).toBeLessThan(facts + 30);
    for (const line of lines.slice(facts + 2)) expect(line).toMatch(/^description │ |^ {12}│ |^ {14}/);
  });

  it('says how much of the words it left out', () => {
    expect(cardOf({ description: 'a'.repeat(1500) }).at(-1)).toContain('…⟦500 more characters⟧');
  });

  it('shows an answer that is proposed in place of the run, and what the agent is told', () => {
    const proposal = { ...approvalOf().proposal, kind: 'answer', output: 'done', proposedBy: 'ann' } as const;
    const instructions = [
      { respondedBy: 'bob', instruction: 'then verify\nthe backup' },
      { respondedBy: 'carol', instruction: 'use the archive', ifDenied: true as const },
    ];
    const lines = cardOf({ proposal, instructions });
    const from = lines.indexOf('It would not run: ann proposes this answer in its place');
    expect(lines.slice(from + 1, from + 9)).toEqual([
      ...['{', '  "answer": "done"', '}', ''],
      ...['The agent is told', '  bob: then verify', '  │ the backup', '  carol (if denied): use the archive'],
    ]);
  });

  it('fits a narrow terminal', () => {
    for (const line of cardOf({ arguments: { command: 'y'.repeat(300) } }, 40))
      expect(widthOf(line)).toBeLessThanOrEqual(40);
  });

  it('names the owner of the agent, the calls around a nested one, and a delegate', () => {
    const link = {
      callId: 'tc_b',
      agentId: 'planner',
      toolName: 'delegate',
      runId: 'run-41',
      requestedBy: 'team',
      owner: 'erin',
      onBehalfOf: null,
    };
    const response = {
      ...{ respondedBy: 'bob', onBehalfOf: 'alice', decision: { type: 'approve' as const }, reason: null, via: 'cli' },
      respondedAt: '2026-11-22T09:59:57.000Z',
      counted: true,
      number: 1,
    } as const;
    const text = cardOf({ owner: 'carol', onBehalfOf: 'dave', chain: [link], responses: [response] }).join('\n');
    expect(text).toContain('asked by billing-agent (owner carol, says it acts for dave)');
    expect(text).toContain('inside   delegate of planner in run run-41 (asked by team, owner erin)');
    expect(text).toContain('response bob for alice approved');
  });

  it('names the missing people and the result without an answer', () => {
    const text = cardOf({
      requirement: { ...approvalOf().requirement, stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: ['ops'] }] },
      progress: [{ approvedBy: ['alice'], deniedBy: [], missing: 1, missingOf: ['ops'] }],
      upcoming: [
        { kind: 'escalation', at: '2026-11-22T10:57:00.000Z', to: ['managers'] },
        { kind: 'expiry', at: '2026-11-22T11:17:00.000Z', to: [] },
      ],
    });
    expect(text).toContain('needs    2 approvers of ops: alice approved, 1 more of ops; not the requester');
    expect(text).toContain('         in 57 min: people of managers are asked as well');
    expect(text).toContain('         in 1 h 17 min: it expires, and the tool does not run');
  });

  it.each([{ requireSignature: true }, { minAssurance: 'high' }] as const)(
    'says that an answer has to be signed, which the command line cannot: %j',
    (signing) => {
      const requirement = { ...approvalOf({}).requirement, ...signing };
      const textOf = (approval: ApprovalView): string =>
        approvalCard(approval, { columns: 120, nowMs })
          .map(({ text }) => text)
          .join('\n');
      expect(textOf(approvalOf({ requirement }))).toContain('The command line cannot sign.');
      expect(textOf(approvalOf({}))).not.toContain('cannot sign');
    },
  );

  it('says who answered, when and how', () => {
    const response = {
      respondedBy: 'bob',
      onBehalfOf: null,
      decision: { type: 'deny' },
      reason: 'too\u001b risky',
      respondedAt: '2026-11-22T09:59:57.000Z',
      via: 'slack',
      counted: true,
      number: 1,
    } as const;
    expect(responseWords(response, nowMs)).toBe('bob denied 3 s ago via slack: "too⟦U+001B⟧ risky"');
    const ended = approvalOf({ state: 'denied', responses: [response], resolvedAt: response.respondedAt });
    expect(goneWords(ended, nowMs)).toBe('bob denied this 3 s ago via slack. Nothing of yours was sent.');
    expect(goneWords(approvalOf({ state: 'expired' }), nowMs)).toBe('It expired.');
    expect(goneWords(approvalOf({ state: 'cancelled' }), nowMs)).toBe('The call was cancelled.');
    const approved = { ...response, decision: { type: 'approve' } } as const;
    const proposal = { ...approvalOf({}).proposal, kind: 'answer', output: 1, proposedBy: 'ann', replaces: 1 } as const;
    const answered = approvalOf({
      state: 'approved',
      responses: [approved],
      resolvedAt: response.respondedAt,
      proposal,
    });
    expect(goneWords(answered, nowMs)).toBe(
      'bob approved the answer of ann in place of the tool 3 s ago via slack. The tool does not run. Nothing of yours was sent.',
    );
    expect(responseSentWords('approve', answered)).toBe(
      'Answered in its place: delete_file. The approval is approved.',
    );
    expect(responseSentWords('deny', ended)).toBe('Denied: delete_file. The approval is denied.');
    expect(responseSentWords('approve', approvalOf({ responses: [response] }))).toContain('more people must answer');
  });
});
