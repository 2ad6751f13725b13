import { setImmediate } from 'node:timers/promises';
import type { RequestToolCalls, RequestedCall, Refusal } from '@countersign/contracts';
import { invalidRequest } from '@countersign/domain';
import type { CommandPorts } from '../ports.js';
import type { ValidArguments } from './argument-schema.js';

/** The facts about one call of a request before it is judged. */
export interface CheckedCall {
  readonly refusals: readonly Refusal[];
  /** What the schema says about the arguments; null for a call that is refused. */
  readonly valid: ValidArguments | null;
}

/** A request whose arguments fit their schemas. */
export interface CheckedRequest {
  readonly body: RequestToolCalls;
  readonly agentId: string;
  readonly callIds: readonly string[];
  readonly checked: readonly CheckedCall[];
}

function refuse(refusal: Refusal): CheckedCall {
  return { refusals: [refusal], valid: null };
}

/**
 * Checks the calls of one request against their schemas, within one step budget.
 *
 * Attack: many calls whose schemas take much work. Others are answered between two of them.
 */
export async function checkCalls(
  ports: CommandPorts,
  tenant: string,
  { calls }: RequestToolCalls,
): Promise<readonly CheckedCall[]> {
  const schemas = ports.schemas.forOneRequest(calls.length);
  const checked: CheckedCall[] = [];
  for (const [index, call] of calls.entries()) {
    checked.push(checkCall({ ...ports, schemas }, tenant, call, `calls.${String(index)}`));
    if (schemas.wasLaborious()) await setImmediate();
  }
  return checked;
}

function checkCall(ports: CommandPorts, tenant: string, call: RequestedCall, path: string): CheckedCall {
  const tool = ports.tools.find(tenant, call.toolName);
  if (tool !== undefined && call.clientExecuted === true) {
    const message = 'the service executes this tool, so no client can';
    return refuse(invalidRequest([{ path: `${path}.clientExecuted`, message }]));
  }
  const schema = tool?.inputSchema ?? call.toolSchema ?? null;
  const checked = ports.schemas.check(schema, call.arguments);
  switch (checked.status) {
    case 'valid':
      return { refusals: [], valid: checked };
    case 'refused':
      return refuse(invalidRequest([{ path: `${path}.${checked.about}`, message: checked.message }]));
    case 'invalid': {
      const errors = checked.errors.map((one) => ({ ...one, path: joinPath(`${path}.arguments`, one.path) }));
      const detail = `the arguments of "${call.toolName}" do not fit its schema`;
      return refuse({ code: 'invalid-arguments', detail, errors });
    }
  }
}

function joinPath(base: string, rest: string): string {
  return rest === '' ? base : `${base}.${rest}`;
}

/** All errors of one kind at once: invalid requests before schema violations. */
export function together(found: readonly Refusal[]): Refusal | undefined {
  const first = found.find(({ code }) => code === 'invalid-request') ?? found[0];
  const same = found.filter(({ code }) => code === first?.code);
  return first === undefined || same.length === 1
    ? first
    : { ...first, errors: same.flatMap(({ errors = [] }) => errors) };
}
