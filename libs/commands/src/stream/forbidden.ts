import type { Refusal } from '@countersign/contracts';
import type { ToolCallProposal } from '@countersign/domain';
import type { Forbidding } from '@countersign/event-store';
import type { CommandPorts } from '../ports.js';
import { forbiddenRefusal, UnreadableStreamError } from './unreadable-stream.js';
import type { Refused } from './with-tool-call.js';

/** What a command does to a call: `run` lets it go on, `judge` also asks the policy, for its verdict or its people. */
export type Doing = 'run' | 'judge';

type Covered = Pick<ToolCallProposal, 'tenant' | 'runId' | 'chain'>;

/**
 * The refusal by a stream that forbids what it covers, because an event in it cannot be read. A cancellation of a run
 * covers the calls of the run and those inside it; the policy covers what it judges from now on, and its people.
 */
export function forbidden(
  { forbidding }: Pick<CommandPorts, 'forbidding'>,
  call: Covered,
  doing: Doing,
): Refused | undefined {
  if (forbidding === undefined) return undefined;
  const refusal =
    (doing === 'judge' ? byPolicy({ forbidding }, call.tenant) : undefined) ?? byRun({ forbidding }, call);
  return refusal && { status: 'refused', refusal };
}

/** Like `forbidden`, for a request that gathers its facts. @throws UnreadableStreamError */
export function assertNotForbidden(ports: Pick<CommandPorts, 'forbidding'>, call: Covered, doing: Doing): void {
  const found = forbidden(ports, call, doing);
  if (found !== undefined) throw new UnreadableStreamError(found.refusal);
}

interface Ports {
  readonly forbidding: Forbidding;
}

/** The refusal of everything that the policy of a tenant judges, while it cannot be read. */
function byPolicy({ forbidding }: Ports, tenant: string): Refusal | undefined {
  const found = forbidding.policyOf(tenant);
  return found && forbiddenRefusal(found, `no request and no response of the tenant "${tenant}" is decided`);
}

function byRun({ forbidding }: Ports, { tenant, runId, chain = [] }: Covered): Refusal | undefined {
  for (const run of [runId, ...chain.map((link) => link.runId)]) {
    const found = forbidding.runOf(tenant, run);
    if (found !== undefined) return forbiddenRefusal(found, `no call of the run "${run}" is decided or claimed`);
  }
  return undefined;
}
