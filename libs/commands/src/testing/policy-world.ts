import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CelEngine } from '@countersign/cel';
import { toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore } from '@countersign/event-store';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import type { LivePolicies } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { Actor, Role } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import type { Result } from '../result.js';
import { createWriteSide } from '../write-side.js';
import type { WriteSidePorts } from '../write-side.js';

export const actor = (principal: string, ...roles: readonly Role[]): Actor => ({
  tenant: 'default',
  principal,
  roles: new Set(roles),
  groups: [],
  agentIds: ['*'],
  via: 'api',
  assurance: 'medium',
});

export const agent = actor('agent', 'agent');
export const alice = actor('alice', 'approver');

/** A write side over a store in a temporary folder, with a policy that a test can replace. */
export interface PolicyWorld {
  readonly commands: CommandPorts;
  readonly store: EmbeddedEventStore;
  readonly policies: LivePolicies;
  readonly clock: ReturnType<typeof createVirtualClock>;
  /** Another process over the same store. */
  readonly another: (options?: Partial<WriteSidePorts>) => CommandPorts;
  readonly activate: (yaml: string) => void;
  readonly stateOf: (callId: string) => Promise<string | null>;
  readonly close: () => Promise<void>;
}

export async function openPolicyWorld(yaml: string, cel: CelEngine | null = null): Promise<PolicyWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
  const clock = createVirtualClock();
  const store = await openEmbeddedEventStore({ folder, clock, log: createSilentLog() });
  const policies = createLivePolicies(loadPolicy('p.yaml', `version: 1\n${yaml}`, cel));
  const tools = { find: () => undefined };
  const another: PolicyWorld['another'] = (options = {}) =>
    createWriteSide({ store, policies, tools, ids: createSystemIds(), log: createSilentLog(), ...options });
  const commands = another();
  return {
    ...{ commands, store, policies, clock, another },
    activate: (next) => {
      policies.activate(loadPolicy('p.yaml', `version: 1\n${next}`, cel));
    },
    stateOf: async (callId) => callState((await commands.handler.load(toolCallStream(callId))).state),
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** One model step with these calls, `tool:toolCallId` each. */
export function step(...calls: readonly string[]): RequestToolCalls {
  const toCall = (call: string) => {
    const [toolName = '', toolCallId = ''] = call.split(':');
    return { toolName, toolCallId, arguments: {} };
  };
  return { runId: 'run-1', calls: calls.map(toCall) };
}

export function done<T>(outcome: Result<T>): T {
  if (outcome.status !== 'done') throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

export const codeOf = (outcome: Result<unknown>): string =>
  outcome.status === 'refused' ? outcome.refusal.code : 'done';
