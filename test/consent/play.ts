import { isDeepStrictEqual } from 'node:util';
import { isOpen } from './book.ts';
import type { Defence } from './defences.ts';
import { ConsentModel } from './model.ts';
import type { ServerSubject } from './server-side.ts';
import { hasGuess, mustBeAlike, mustBeSame, twinOf, visibleOf } from './twins.ts';
import type { Answer, Command } from './words.ts';
import { delegations, people, policies } from './world.ts';
import { openWriteSide } from './write-side.ts';

const [policy] = policies;

/** Judges the rules of the domain, the policy and the commands in one world. Throws what broke. */
export async function playWithoutServer(commands: readonly Command[], without: Defence | null): Promise<void> {
  const model = new ConsentModel(people, delegations, policy);
  const subject = openWriteSide(policy, without);
  const twin = hasGuess(commands) ? openWriteSide(policy, without) : null;
  try {
    for (const command of commands) {
      const answer = await subject.run(command);
      model.step(command, answer);
      if (twin !== null) mustBeAlike(answer, await twin.run(twinOf(command)));
    }
    model.mayDecide(await subject.deciders());
  } finally {
    await subject.close();
    await twin?.close();
  }
}

/** Judges a running server in one world, whose answers are those of the rules. Throws what broke. */
export async function playOnServer(commands: readonly Command[]): Promise<void> {
  // The whole product is loaded only where it is needed.
  const { openServerSide } = await import('./server-side.ts');
  const model = new ConsentModel(people, delegations, policy);
  const hasBatch = commands.some((one) => one.type === 'request' && one.calls.length > 1);
  const [subject, server] = [openWriteSide(policy), await openServerSide(policy)];
  try {
    for (const command of commands) {
      const ruled = await subject.run(command);
      const served = await untilEnded(server, ruled, await server.run(command));
      model.step(command, served);
      if (hasBatch && takesTime(command) && hasParted(ruled, served)) return;
      mustBeSame(visibleOf(ruled), visibleOf(served));
    }
    const deciders = await server.deciders();
    model.mayDecide(deciders);
    mustBeSame(await subject.deciders(), deciders);
  } finally {
    await subject.close();
    await server.close();
  }
}

/** The answer of the server once it has done what it does in the background: turns, and the end of runs and of inner calls. */
async function untilEnded(server: ServerSubject, ruled: Answer, first: Answer): Promise<Answer> {
  let served = first;
  const isLate = (): boolean =>
    [...ruled.calls].some(([id, { state, waits }]) => {
      const shown = served.calls.get(id);
      return (state === 'cancelled' && isOpen(shown?.state ?? '')) || (!waits && shown?.waits === true);
    }) || ruled.grants.some(({ isActive }, at) => !isActive && served.grants[at]?.isActive === true);
  for (let looks = 0; isLate() && looks < looksMax; looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    served = { ...served, ...(await server.look()) };
  }
  return served;
}

/** About a minute. A difference that stays is reported as one. */
const looksMax = 3_000;

const takesTime = ({ type }: Command): boolean =>
  type === 'wait' || type === 'stop' || type === 'policy' || type === 'identify';

/**
 * The calls of a batch whose time is over at the same moment: each ends by itself, or the end of another cancels it. From
 * then on the two worlds may differ.
 */
function hasParted(ruled: Answer, served: Answer): boolean {
  const [one, other] = [ruled, served].map(({ calls }) => [...calls.values()].map(({ state }) => state));
  const isOver = one?.includes('expired') === true && other?.includes('expired') === true;
  return isOver && !isDeepStrictEqual(visibleOf(ruled), visibleOf(served));
}
