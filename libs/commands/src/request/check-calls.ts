import { setImmediate } from 'node:timers/promises';
import type { RequestToolCalls } from '@countersign/contracts';
import type { CheckedCall } from '@countersign/domain';
import type { CommandPorts } from '../ports.js';
import type { SchemaCheck } from './argument-schema.js';

/** A call of a request, and what its schema says about its arguments. */
export interface SchemaCheckedCall extends CheckedCall {
  readonly check: SchemaCheck;
}

/** A request whose arguments fit their schemas. */
export interface CheckedRequest {
  readonly body: RequestToolCalls;
  readonly agentId: string;
  readonly callIds: readonly string[];
  readonly checked: readonly SchemaCheckedCall[];
}

/**
 * Checks the calls of one request against their schemas, within one step budget.
 *
 * Attack: many calls whose schemas take much work. Others are answered between two of them.
 */
export async function checkCalls(
  { schemas, tools }: Pick<CommandPorts, 'schemas' | 'tools'>,
  tenant: string,
  { calls }: RequestToolCalls,
): Promise<readonly SchemaCheckedCall[]> {
  const { check, wasLaborious } = schemas.forOneRequest(calls.length);
  const checked: SchemaCheckedCall[] = [];
  for (const { toolName, toolSchema = null, clientExecuted = false, arguments: args } of calls) {
    const tool = tools.find(tenant, toolName);
    const facts = { toolName, isServiceTool: tool !== undefined, clientExecuted };
    checked.push({ ...facts, check: check(tool?.inputSchema ?? toolSchema, args) });
    if (wasLaborious()) await setImmediate();
  }
  return checked;
}
