import type { LegalityRule, Unproven } from '@countersign/audit';
import type { Defence } from './defences.ts';

/** What the judge of the log says where a defence is taken out: a rule that is broken, a doubt, or nothing, and why the log cannot show it. */
export type JudgedDefence =
  | { readonly finds: LegalityRule }
  | { readonly lists: Unproven; readonly because: string }
  | { readonly cannotSee: string };

const grace = 'what ended less than 15 minutes before still counts, and a world has faults for 90 seconds';
const ofQuotas = 'how many questions there were when a process looked is not in the log, nor are refused requests';
const ofClock = 'from 15 minutes on a time is a finding';

/** Each defence, with what the judge says without it. */
export const judgedDefences: Readonly<Record<Defence, JudgedDefence>> = {
  'command-dedupe': { cannotSee: 'what a client is told is not in the log' },
  'expected-revision': { finds: 'grant' },
  'first-resolution': { finds: 'resolution' },
  'approval-check': { finds: 'claim' },
  'digest-check': { cannotSee: 'what a tool is given is not in the log: its receipt tells the tool' },
  'batch-check': { finds: 'batch' },
  'batch-word': { finds: 'batch' },
  'attempt-check': { cannotSee: 'a report names the attempt that counts; that another one made it is not in the log' },
  'lease-check': { cannotSee: 'when a tool begins to run is not in the log' },
  'unknown-is-final': { finds: 'lease' },
  quorum: { finds: 'resolution' },
  'kept-requirement': { finds: 'resolution' },
  'policy-record': { finds: 'policy' },
  'deny-ends-run': { cannotSee: 'a process that stops cancels nothing: only a call that goes on is listed' },
  'edit-requirement': { finds: 'verdict' },
  'four-eyes': { cannotSee: 'the policy of the world does not ask for it, and the log has that policy' },
  'one-voice': { finds: 'vote' },
  'delegation-time': { cannotSee: grace },
  'delegator-role': { cannotSee: grace },
  ownership: { finds: 'rights' },
  'grant-use': { finds: 'grant' },
  'grant-confirmation': { finds: 'grant' },
  'second-person': { finds: 'four-eyes' },
  'pending-cap': { cannotSee: ofQuotas },
  'cool-down': { cannotSee: ofQuotas },
  'identical-question': { cannotSee: ofQuotas },
  'stop-look': { finds: 'stop' },
  'stop-reread': { finds: 'stop' },
  'store-time': { lists: 'off-time', because: ofClock },
  'known-time': { lists: 'off-time', because: ofClock },
  'clock-gate': { cannotSee: 'the clock of a process is not in the log' },
  'publish-ack': { cannotSee: 'the topics are not in the log' },
  'projector-checkpoint': { cannotSee: 'the read models are not in the log' },
};
