import type { CredentialRights } from '@countersign/contracts';
import { matchesGlob } from '@countersign/contracts';
import { illegal } from '../legality/judged-event.js';
import type { Act } from './acts.js';
import { isOfProvider } from './providers.js';
import type { RightsRecord } from './record.js';
import type { Word } from './word.js';

/** The principal under which the service executes its own tools, a stored format. */
const serviceResolver = 'countersign-resolver';

/**
 * Compares what an agent or a worker did with the log of record. Attacks: a call is requested for an agent, or claimed, by a
 * principal that may not; and a request does not name the owner of its agent, so that the owner can approve it.
 */
export function judgeProgram(act: Act, record: RightsRecord): readonly Word[] {
  const { by, at } = act;
  const needs = act.needs ?? [];
  if (by === serviceResolver && needs.includes('resolver')) return [];
  const entries = record.ofPerson(by, at).map(({ what }) => what);
  const able = entries.filter(({ roles }) => needs.some((role) => roles.includes(role)));
  if (able.some((entry) => isFor(entry, act))) return [];
  if (isOfProvider(by, record)) return ['provider-rights'];
  // The ledger knows its requesters by a file of keys, which no process records.
  if (needs.includes('agent') && record.hasLedger()) return ['ledger-rights'];
  if (able.some(({ more }) => more !== undefined)) return ['unrecorded-rights'];
  return [illegal('rights', able.length === 0 ? notAble(act) : notFor(act))];
}

/** An entry lets its principal request for some agents, and says who is responsible for them. */
function isFor({ principal, agentIds, owner }: CredentialRights, act: Act): boolean {
  const { agentId } = act;
  if (agentId === undefined) return true;
  return owner === act.owner && (agentId === principal || agentIds.some((glob) => matchesGlob(glob, agentId)));
}

function notAble({ by, needs }: Act): string {
  return `no entry of the tokens file gave ${by} the role ${String(needs?.join(' or '))}`;
}

function notFor({ by, agentId = '', owner }: Act): string {
  return `no entry of ${by} lets it request for the agent ${agentId} of ${owner ?? 'no owner'}`;
}
