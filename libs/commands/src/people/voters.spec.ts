import { expect, it } from '@jest/globals';
import type { Approval } from '@countersign/domain';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { votersOf } from './voters.js';

it('a process without a tokens file counts no vote for which a front end vouched', () => {
  const vote = (respondedBy: string, via: string) => ({
    ...{ status: 'counted', automatic: false, onBehalfOf: null, groups: ['support'] },
    ...{ respondedBy, via },
  });
  const votes = [vote('desk#kim', 'desk'), vote('bob', 'api'), vote('team#1', 'api')];
  const { voters = [] } = votersOf({ policies: createPolicies([]) }, 'default', { votes } as unknown as Approval, 0);
  expect(voters.map(({ respondedBy, groups }) => [respondedBy, groups])).toEqual([
    ['desk#kim', null],
    ['bob', ['support']],
    ['team#1', ['support']],
  ]);
});

it('a vote through a chat does not count once its person has another identity there, and does while none is known', () => {
  const vote = { status: 'counted', automatic: false, onBehalfOf: null, groups: [], respondedBy: 'bob', via: 'slack' };
  const groupsWith = (credential: string, identities: string) => {
    const policies = createPolicies([
      loadPolicy('p.yaml', `version: 1\napprovers: [{ id: bob, identities: ${identities} }]\nrules: []`),
    ]);
    const approval = { votes: [{ ...vote, credential }] } as unknown as Approval;
    return votersOf({ policies }, 'default', approval, 0).voters?.[0]?.groups;
  };
  expect(groupsWith('slack:T01:U01', '{ slack: "T01:U01" }')).toEqual([]);
  expect(groupsWith('slack:T01:U01', '{ slack: "T01:U02" }')).toBeNull();
  expect(groupsWith('slack:T01:U01', '{ email: "bob@x.example" }')).toEqual([]);
  expect(groupsWith('mail:old@x.example', '{ email: "bob@x.example" }')).toBeNull();
  expect(groupsWith('mail:Bob@x.example', '{ email: "bob@x.example" }')).toEqual([]);
});
