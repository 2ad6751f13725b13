import { describe, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { given, history } from './testing/given.js';
import {
  answer,
  deny,
  digest,
  edit,
  editBy,
  request,
  requirement,
  respond,
  responder,
  stage,
  verdict,
} from './testing/fixtures.js';

/** An edit into arguments that another rule judges. */
const into = (change: Partial<Requirement>, letter = 'b') =>
  edit(letter, {
    judgement: {
      outcome: 'require',
      verdict: { ...verdict(), ruleId: 'large-refunds' },
      requirement: requirement(change),
    },
  });

const two = { stages: [stage({ approve: 2, deny: 2 })] };
const low = responder('bob', { assurance: 'low' });
const proposals = [
  ['an edit under the rule of the request', editBy(low, edit('c'))],
  ['an edit under a laxer rule', editBy(low, into({}, 'c'))],
  ['an answer', answer(low, 'x')],
] as const;

describe('a person whose assurance is too low for what is asked', () => {
  const asked = history(request(two), editBy('alice', into({ minAssurance: 'medium' })));

  it.each(proposals)('proposes nothing in its place: %s', (_, proposal) => {
    given(asked).when(proposal).thenRefused('not-an-approver', { minAssurance: 'medium' });
  });

  it('neither approves nor denies it', () => {
    for (const response of [respond(low), deny(low)])
      given(asked).when(response).thenRefused('not-an-approver', { minAssurance: 'medium' });
  });
});

describe('a person whose assurance is enough for what is asked', () => {
  it('proposes nothing that they may not approve', () => {
    given(history(request(two)))
      .when(editBy(low, into({ minAssurance: 'medium' })))
      .thenRefused('not-an-approver', { minAssurance: 'medium' });
    given(history(request({ ...two, minAssurance: 'low' })))
      .when(editBy(low))
      .thenAccepted({ respondedBy: 'bob', proposal: 2 });
  });
});

describe('a person who does not sign', () => {
  const signature = {
    ...{ credentialId: 'c', nonce: 'n', authenticatorData: 'a', clientDataJSON: 'j', signature: 's' },
    displayDigest: digest,
  };
  const rules = [{ minAssurance: 'high' }, { requireSignature: true }] as const;

  it.each(rules.flatMap((rule) => proposals.map(([name, proposal]) => [rule, name, proposal] as const)))(
    'proposes nothing in the place of what needs a signature: %j, %s',
    (rule, _, proposal) => {
      const signed = { ...editBy('alice', into(rule)), signature };
      given(history(request(two), signed))
        .when(proposal)
        .thenRefused('signature-required');
    },
  );
});
