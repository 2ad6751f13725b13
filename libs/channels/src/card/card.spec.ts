import { describe, expect, it } from '@jest/globals';
import { sampleNotice } from '../testing/notices.js';
import { answerModal } from '../slack/modal.js';
import { cardOf } from './card.js';

describe('the card', () => {
  it('names the owner of the agent, the calls around a nested one, and a delegate', () => {
    const link = {
      callId: 'tc_b',
      agentId: 'planner',
      toolName: 'delegate',
      runId: 'run-41',
      requestedBy: 'planner',
      owner: null,
      onBehalfOf: 'erin',
    };
    const response = {
      ...{ respondedBy: 'bob', onBehalfOf: 'alice', decision: { type: 'approve' as const }, reason: null, via: 'cli' },
      respondedAt: '2026-11-22T09:59:57.000Z',
      counted: true,
      number: 1,
    } as const;
    const approval = { owner: 'carol', onBehalfOf: 'dave', chain: [link], responses: [response] };
    const { facts, status } = cardOf(sampleNotice({ approval }), 3_000);
    expect(facts).toContainEqual(['Asked by', 'agent (owner carol, says it acts for dave)']);
    expect(facts).toContainEqual([
      'Inside',
      'delegate of planner in run run-41 (asked by planner, says it acts for erin)',
    ]);
    expect(status[0]).toBe('bob for alice approved via cli');
  });

  it('quotes a name of a tool that reads like our words', () => {
    const { call, ...notice } = sampleNotice();
    const toolName = 'read_file run? Yes. May it';
    expect(cardOf({ ...notice, call: { ...call, toolName } }, 3_000).headline).toBe(
      'May "read_file run? Yes. May it" run?',
    );
  });

  it('shows the principal that asked, and the labels', () => {
    const approval = { requestedBy: 'kafka', labels: { env: 'prod', team: 'ops' } };
    expect(cardOf(sampleNotice({ approval }), 3_000).facts).toEqual(
      expect.arrayContaining([
        ['Asked by', 'kafka'],
        ['Labels', 'env: prod, team: ops'],
      ]),
    );
  });

  it('quotes a label that reads like several, and marks its characters once', () => {
    const approval = { labels: { env: 'staging, cwd: /srv\u202e' } };
    expect(cardOf(sampleNotice({ approval }), 3_000).facts).toContainEqual([
      'Labels',
      'env: "staging, cwd: /srv⟦U+202E⟧"',
    ]);
  });

  it('links to the inbox while it is pending, where the service has a public url', () => {
    const notice = sampleNotice();
    const link = `https://c.example/approvals/${notice.approval?.approvalId ?? ''}`;
    expect(cardOf(notice, 3_000, 'https://c.example/').link).toBe(link);
    expect(cardOf(notice, 3_000, null).link).toBeNull();
    expect(cardOf(sampleNotice({ approval: { state: 'denied' } }), 3_000, 'https://c.example').link).toBeNull();
  });

  it('shows every call about which the same response decides, and approves none when one is cut', () => {
    const other = sampleNotice({ approval: { toolName: 'read_file', arguments: { path: '/etc/hosts' } } });
    const { call, approval } = other;
    if (approval === null) throw new Error('the sample has an approval');
    const labelled = { ...approval, labels: { cwd: '/srv' } };
    const notice = { ...sampleNotice(), together: [{ call, approval: labelled }] };
    const card = cardOf(notice, 3_000);
    expect(card.argumentLines.join('\n')).toContain('And read_file with\n(labels: cwd: /srv)\n');
    expect(card.argumentLines.join('\n')).toContain('"/etc/hosts"');
    expect(card.facts).toContainEqual(['Step', 'one response decides about all 2 calls: all are shown below']);
    expect(card.isWhole).toBe(true);
    const long = { ...approval, arguments: { path: 'x y '.repeat(900) } };
    const cut = cardOf(
      {
        ...notice,
        together: [
          { call, approval: labelled },
          { call, approval: long },
        ],
      },
      200,
    );
    expect(cut.isWhole).toBe(false);
  });

  it('shows what a person has edited in another call about which the same response decides', () => {
    const { call, approval } = sampleNotice({ approval: { toolName: 'look', arguments: { n: 1, extra: 2 } } });
    if (approval === null) throw new Error('the sample has an approval');
    const edited = { ...approval, proposal: { ...approval.proposal, number: 2, proposedBy: 'mo' } };
    const asked = { ...call, arguments: { n: 1 } };
    const lines = (one: typeof approval) =>
      cardOf({ ...sampleNotice(), together: [{ call: asked, approval: one }] }, 3_000).argumentLines;
    expect(lines(edited)).toContain('(The agent asked for (-), and mo put in its place (+):)');
    expect(lines(edited).join('\n')).toMatch(/^\+ .*"extra": 2/m);
    expect(lines(approval).join('\n')).not.toContain('put in its place');
  });

  it('names the calls that a denial cancels', () => {
    const { callId } = sampleNotice().call;
    const callIds = [callId, ...Array.from({ length: 7 }, (_, n) => `tc_${String(n)}`)];
    const batchFact = (mode: 'independent' | 'all-or-nothing' | 'sequential') =>
      cardOf(sampleNotice({ approval: { batch: { batchId: 'b', mode, callIds } } }), 3_000).facts.find(
        ([label]) => label === 'Batch',
      );
    expect(batchFact('all-or-nothing')?.[1]).toBe(
      'all or nothing: to deny this one cancels tc_0, tc_1, tc_2, tc_3, tc_4 and 2 more',
    );
    expect(batchFact('independent')).toBeUndefined();
    expect(batchFact('sequential')?.[1]).toBe('one of 8 calls of a step that take their turn one after another');
  });

  it('says where a denial ends the run, also in the form of Slack', () => {
    const { approval } = sampleNotice();
    if (approval === null) throw new Error('the sample has an approval');
    const ending = { ...approval, requirement: { ...approval.requirement, denyEndsRun: true } as const };
    const words = 'ends the run: its other open calls are cancelled';
    const notice = sampleNotice();
    expect(cardOf(sampleNotice({ approval: ending }), 3_000).facts).toContainEqual(['A denial', words]);
    const together = [{ call: notice.call, approval: ending }];
    expect(cardOf({ ...notice, together }, 3_000).facts).toContainEqual(['A denial', words]);
    expect(JSON.stringify(cardOf(notice, 3_000).facts)).not.toContain(words);
    expect(JSON.stringify(answerModal(ending, 'token').blocks)).toContain(`A denial: ${words}`);
  });

  it.each([{ requireSignature: true }, { minAssurance: 'high' }] as const)(
    'says where a person signs, because no button of a channel can: %j',
    (signing) => {
      const { approval } = sampleNotice();
      if (approval === null) throw new Error('the sample has an approval');
      const requirement = { ...approval.requirement, ...signing };
      const { warnings } = cardOf(sampleNotice({ approval: { requirement } }), 3_000);
      expect(warnings).toContain('Sign it in the inbox, with your passkey: no button here decides it');
      expect(cardOf(sampleNotice(), 3_000).warnings).toEqual([]);
    },
  );

  it('says how many values are hidden, and who hid them', () => {
    const hiddenValues = [
      { pointer: '/command', why: 'schema' },
      { pointer: '/token', why: 'name' },
    ] as const;
    const { warnings } = cardOf(sampleNotice({ approval: { hiddenValues: [...hiddenValues] } }), 3_000);
    expect(warnings[0]).toMatch(
      /^2 values are hidden from you: 1 by the agent's tool schema, 1 by its name\. Look at them in the inbox/,
    );
  });

  it('warns where right-to-left letters would move numbers and signs, and not of other text in them', () => {
    const warningsOf = (change: object) => cardOf(sampleNotice({ approval: change }), 3_000).warnings;
    const warning = [expect.stringMatching(/^Text that is written from right to left: the order of numbers and signs/)];
    expect(warningsOf({ arguments: { command: 'mv א 1' } })).toEqual(warning);
    expect(warningsOf({ labels: { cwd: '/srv/א/1' } })).toEqual(warning);
    expect(warningsOf({ arguments: { note: 'שלום, עולם' } })).toEqual([]);
  });

  it('counts the hidden values of a proposed answer too, also of a call that the same response decides', () => {
    const { approval } = sampleNotice();
    if (approval === null) throw new Error('the sample has an approval');
    const answer = { kind: 'answer', output: { password: '[masked]' }, proposedBy: 'ann' } as const;
    const hiddenValues = [{ pointer: '/password', why: 'name' as const }];
    const proposal = { ...approval.proposal, ...answer, hiddenValues };
    const words = '1 value is hidden from you: 1 by its name';
    expect(cardOf(sampleNotice({ approval: { proposal } }), 3_000).warnings[0]).toBe(
      `${words}. Look at them in the inbox`,
    );
    const other = sampleNotice({ approval: { proposal }, toolCallId: 'call-2' });
    const together = [{ call: other.call, approval: { ...approval, proposal } }];
    expect(cardOf(sampleNotice({ notice: { together } }), 3_000).argumentLines).toContain(`(${words})`);
  });

  it('says that the arguments are not checked by a part of the schema', () => {
    const unchecked = (...pointers: string[]) =>
      cardOf(
        sampleNotice({ approval: { schemaNotes: pointers.map((pointer) => ({ pointer, why: 'is odd' })) } }),
        3_000,
      ).warnings;
    expect(unchecked('/properties/a/pattern')).toEqual(['Not checked by the tool’s schema at "/properties/a/pattern"']);
    expect(unchecked('/a\u202e', '/b')[0]).toBe('Not checked by the tool’s schema at "/a⟦U+202E⟧" and 1 more');
    expect(unchecked('/a', '')).toEqual(['Not checked by the tool’s schema']);
  });

  it('tells a hidden value from a text of the agent that reads like one', () => {
    const mask = '[masked sha256:0123456789abcdef]';
    const notice = sampleNotice({
      arguments: { token: mask, command: mask },
      approval: { hiddenValues: [{ pointer: '/token', why: 'name' }] },
    });
    expect(cardOf(notice, 3_000).argumentLines).toEqual([
      '{',
      `  "token": ${mask},`,
      `  "command": "${mask}" ⟦text from the agent, not a hidden value⟧`,
      '}',
    ]);
  });
});
