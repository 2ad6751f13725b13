import { describe, expect, it } from '@jest/globals';
import { answer, deny, edit, editBy, request, respond, responder, stage, withdraw } from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';
import { currentProposal } from './proposal.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { currentApproval } from './tool-call.state.js';

const four = { stages: [stage({ approve: 4, deny: 4, groups: ['ops'] })] };
const gone = (respondedBy: string, onBehalfOf: string | null = null) => ({
  voters: [{ respondedBy, onBehalfOf, groups: null, names: [respondedBy] }],
});

const approvalAfter = (...commands: readonly ToolCallCommand[]) => {
  const approval = currentApproval(stateAfter(history(...commands)));
  expect(approval).toBeDefined();
  return approval as NonNullable<typeof approval>;
};

describe('a person whose vote was lost', () => {
  const ends = [
    ['they withdraw it', withdraw('alice')],
    ['they withdraw it by its number', { ...withdraw('alice'), response: 1 }],
    ['they withdraw it under another name', { ...withdraw('al'), aliases: ['alice'] }],
    ['they are removed', { ...withdraw('desk'), of: 'alice' }],
  ] as const;
  const proposals = [
    ['edit', editBy('alice', edit('b'))],
    ['answer', answer('alice', 'x')],
  ] as const;

  it.each(proposals.flatMap(([kind, proposes]) => ends.map(([when, end]) => [kind, when, proposes, end] as const)))(
    'ends the %s that they proposed, and no vote of another, when %s',
    (_, __, proposes, end) => {
      const commands = [request(four), proposes, deny('dave'), respond('bob', gone('alice'))];
      given(history(...commands))
        .when(end)
        .thenAccepted({ ends: 'proposal' });
      const approval = approvalAfter(...commands, end);
      expect(currentProposal(approval)).toMatchObject({ number: 3, kind: 'run', proposedBy: 'agent' });
      expect(approval.votes.map(({ status }) => status)).toEqual(['withdrawn', 'counted', 'void']);
      given(history(...commands, end))
        .when(end)
        .thenNothing();
    },
  );

  it('is told of their edit by the repeat of an earlier withdrawal, which does not end it', () => {
    given(history(request(four), respond('alice'), withdraw('alice'), editBy('alice'), respond('bob', gone('alice'))))
      .when({ ...withdraw('alice'), mayBeRepeat: true })
      .thenRefused('already-voted', { response: 2 });
  });

  it('ends what a delegate proposed in their place, and not what that delegate says for themselves', () => {
    const delegate = responder('bob', { groups: [], delegators: [{ principal: 'alice', groups: ['ops'] }] });
    const commands = [request(four), editBy(delegate), respond('carol', gone('bob', 'alice')), deny('bob')];
    for (const end of [withdraw('alice'), { ...withdraw('desk'), of: 'alice' }]) {
      const { votes } = approvalAfter(...commands, end);
      expect(votes.map(({ status }) => status)).toEqual(['withdrawn', 'void', 'counted']);
    }
  });

  it('ends it under the name under which they proposed it, and what they say under another one stays', () => {
    const own = responder('amy', { aliases: ['desk#amy'] });
    const commands = [request(four), editBy('desk#amy'), respond('carol', gone('desk#amy')), deny(own)];
    const approval = approvalAfter(...commands, { ...withdraw('desk'), of: 'desk#amy' });
    expect(approval.votes.map(({ status }) => status)).toEqual(['withdrawn', 'void', 'counted']);
    expect(currentProposal(approval)).toMatchObject({ number: 3, proposedBy: 'agent' });
  });

  it('ends no edit that another has replaced, and none of another', () => {
    const replaced = history(request(four), editBy('alice'), editBy('bob', edit('c')));
    given(replaced).when(withdraw('alice')).thenRefused('unknown-approval');
    given(history(request(four), respond('alice'), editBy('bob')))
      .when(withdraw('alice'))
      .thenRefused('unknown-approval');
  });
});
