import { ProblemError } from '@countersign/shell';
import type { RecordOfUse } from '../record-of-use.js';
import { actorOf } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';

type AuditedRead = Parameters<RecordOfUse['auditRead']>[1];

/**
 * Admits a read of values in clear, and resolves when it is recorded. Reads of masked values pass.
 * @throws ProblemError `forbidden` for who has no role auditor; as the store when it cannot be recorded.
 */
export async function admitClear(
  { ports }: HttpContext,
  request: ApiRequest,
  values: AuditedRead['values'] | undefined,
  read: Omit<AuditedRead, 'values'>,
): Promise<void> {
  if (values !== 'clear') return;
  const actor = actorOf(request);
  if (!actor.roles.has('auditor')) {
    throw new ProblemError('forbidden', 'values=clear needs the role auditor: leave it out to read masked values');
  }
  await ports.use?.auditRead(actor, { values, ...read }, request.url);
}
