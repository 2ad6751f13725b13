import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateGrantBody, GrantView, ToolCallView } from '@countersign/contracts';
import { accepted, execute, requestOne } from './scene.js';
import type { Scene, Stage } from './scene.js';

/** Gives a grant for a tool of its own, for longer than every restart takes. */
async function grant(
  stage: Stage,
  terms: Partial<CreateGrantBody> = {},
  ...expected: readonly string[]
): Promise<GrantView> {
  const body = {
    toolName: stage.name('tool'),
    match: { any: true },
    expiresInMs: 600_000,
    reason: 'maintenance',
  } as const;
  return accepted(stage, 'grant', await stage.ledger.grant({ ...body, ...terms }), ...expected);
}

/** Requests a call of the granted tool. Without the grant it asks a person, and soon expires. */
async function requestUnder(stage: Stage, { toolName }: GrantView, withinMs = 0): Promise<ToolCallView> {
  await sleep(stage.random.int(0, withinMs));
  return requestOne(stage, { toolName, needsApproval: true, expiresInMs: stage.random.int(200, 500) });
}

function times<T>(count: number, work: () => Promise<T>): Promise<readonly T[]> {
  return Promise.all(Array.from({ length: count }, work));
}

/** Runs the covered calls, and returns how many there are. */
async function runCovered(stage: Stage, { grantId }: GrantView, calls: readonly ToolCallView[]): Promise<number> {
  const covered = calls.filter(({ verdict }) => verdict.grantId === grantId);
  await Promise.all(covered.map(({ callId }) => execute(stage, callId)));
  return covered.length;
}

async function requestAfterTheEnd(stage: Stage, grant: GrantView, end: string): Promise<void> {
  const { callId, verdict } = await requestUnder(stage, grant);
  if (verdict.grantId !== undefined) stage.journal.surprises.push(`${callId} is covered by a grant that ${end} before`);
}

/** Calls race for the uses of one grant: exactly as many are covered as it has. */
const sharedGrant: Scene = async (stage) => {
  const maxUses = stage.random.int(1, 3);
  const given = await grant(stage, { maxUses });
  const calls = await times(maxUses + stage.random.int(1, 3), () => requestUnder(stage, given));
  const covered = await runCovered(stage, given, calls);
  if (covered !== maxUses)
    stage.journal.surprises.push(`${given.grantId} covers ${covered} calls instead of ${maxUses}`);
};

/** A person revokes a grant while calls use it: no call that is requested after the response is covered. */
const revokedGrant: Scene = async (stage) => {
  const given = await grant(stage);
  const revoke = async (): Promise<void> => {
    await sleep(stage.random.int(0, 20));
    accepted(stage, 'revoke', await stage.ledger.revokeGrant(given.grantId));
    await requestAfterTheEnd(stage, given, 'was revoked');
  };
  const [calls] = await Promise.all([times(stage.random.int(2, 4), () => requestUnder(stage, given, 40)), revoke()]);
  await runCovered(stage, given, calls);
};

/** A grant ends while calls use it. */
const expiredGrant: Scene = async (stage) => {
  const expiresInMs = stage.random.int(50, 300);
  // A busy process may need longer to record it.
  const given = await grant(stage, { expiresInMs }, 'expired');
  const calls = await times(stage.random.int(2, 4), () => requestUnder(stage, given, expiresInMs + 50));
  await runCovered(stage, given, calls);
  await sleep(Math.max(0, Date.parse(given.expiresAt) + 2 - Date.now()));
  await requestAfterTheEnd(stage, given, 'expired');
};

export const grantScenes: Readonly<Record<string, Scene>> = { sharedGrant, revokedGrant, expiredGrant };
