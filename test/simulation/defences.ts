/** The product's defences, each of which can be removed: the simulation must notice every removal. */
export const defences = {
  'command-dedupe':
    'the event ids that an append keeps when it is repeated, and commands recognised by their id in the stream',
  'expected-revision': 'appends at the revision that was decided on',
  'first-resolution': 'an approval that has ended takes no further answer',
  'approval-check': 'the claim asks whether the call was approved or allowed',
  'digest-check': 'claim and resolver recompute the action digest over what is about to run',
  'batch-check': 'the claim of a member asks for the siblings of an all-or-nothing batch',
  'batch-word': 'the first word about an all-or-nothing batch stands: begun or broken, never both',
  'attempt-check': 'only the latest attempt may report or renew',
  'lease-check': 'a resolver looks at its lease before it runs the tool',
  'unknown-is-final': 'only a tool that declared itself idempotent is claimable again by itself',
  quorum: 'as many people must agree as the rule asks for',
  'kept-requirement': 'a new policy changes nothing for a call that was asked before',
  'policy-record': 'a policy is recorded before it judges',
  'deny-ends-run': 'a denial whose rule says so cancels the open calls of the run',
  'edit-requirement': 'an edit into another rule needs the people of both',
  'four-eyes': 'the requester cannot answer',
  'one-voice': "a vote in another person's place uses up the voice of that person",
  'delegation-time': 'a delegation is in force for its time alone',
  'delegator-role': 'a person who is no approver any more has no voice that another one could use',
  ownership: 'only its requester or an admin may cancel a call or ask about it',
  'grant-use': 'a use is taken only of a grant that is neither revoked nor expired nor used up',
  'grant-confirmation': 'a grant above the risk tier covers nothing until it is confirmed',
  'second-person': 'the creator of a grant does not confirm it',
  'pending-cap': 'an agent has only so many pending questions as the quotas say',
  'cool-down': 'after denials in a row an agent asks no person for a while',
  'identical-question': 'people are asked once about identical calls',
  'stop-look': 'nobody claims without a look at the stops',
  'stop-reread': 'what is known of the stops is read again after half a second',
  'store-time': "what is stored and what is due is told by the store's time, not by the clock of the machine",
  'known-time': "nothing is decided while the store's time is not known",
  'clock-gate': 'a projector whose clock is wrong fires no deadline',
  'publish-ack': 'the relay keeps its progress only once what it published is acknowledged',
  'projector-checkpoint': 'the read model keeps its checkpoint together with the rows',
} as const;

export type Defence = keyof typeof defences;

export function isDefence(name: string): name is Defence {
  return name in defences;
}
