import { existsSync, readFileSync } from 'node:fs';
import { createWriteSide, recordPolicy } from '@countersign/commands';
import type { Commands } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import { loadPolicy } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import type { ToolSet } from '@countersign/resolver';
import { isStoreAway, untilDone } from './role-process.js';
import type { RoleProcess } from './role-process.js';

/** The policy of a file; null without one. @throws PolicyFileError naming what is wrong and where. */
export function readPolicy(file: string | null): PolicyContent | null {
  if (file === null) return null;
  if (!existsSync(file)) throw new Error(`COUNTERSIGN_POLICY: there is no file ${file}`);
  return loadPolicy(file, readFileSync(file, 'utf8'));
}

/** The commands of a process that judges requests: which policy it judges by is recorded first. */
export async function openJudgingWriteSide(
  process: RoleProcess,
  store: EventStore,
  policy: PolicyContent | null,
  tools: ToolSet,
): Promise<Commands> {
  const activatedAt = new Date(process.clock.now()).toISOString();
  await untilDone(process, 'policy', isStoreAway, () => recordPolicy(store, policy, activatedAt));
  return openWriteSide(process, store, policy, tools);
}

/** The commands of a process that fires, claims and reports. */
export function openWriteSide(
  { clock, ids, log }: RoleProcess,
  store: EventStore,
  policy: PolicyContent | null,
  tools: ToolSet,
): Commands {
  return createWriteSide({ store, policy, tools, clock, ids, log });
}
