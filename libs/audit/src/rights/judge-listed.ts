import type { GrantTerms } from '@countersign/contracts';
import { illegal } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import { timeOf } from './acts.js';
import type { RightsRecord } from './record.js';

const nothing: Judgement = { illegal: [], unproven: [] };

/** Attack: a grant says that the policy did not name its creator, so that it outlasts their entry. */
export function judgeListed({ type, data, recordedAt }: JudgedEvent, record: RightsRecord): Judgement {
  if (type !== 'GrantCreated' && type !== 'GrantProposed') return nothing;
  const { createdBy, createdAt, isListed } = data as GrantTerms;
  if (isListed || !record.isWhole()) return nothing;
  const policies = record.policies(timeOf(createdAt, recordedAt));
  const wasListed = policies.length > 0 && policies.every((people) => people.some(({ id }) => id === createdBy));
  if (!wasListed) return nothing;
  const detail = `${createdBy} was among the approvers of the policy, and it says that they were not`;
  return { illegal: [illegal('grant', detail)], unproven: [] };
}

/** Returns whether no policy that may have been in force at a time names a person. */
export function isUnlisted(person: string, at: string, record: RightsRecord): boolean {
  const policies = record.policies(at);
  return record.isWhole() && policies.length > 0 && policies.flat().every(({ id }) => id !== person);
}
