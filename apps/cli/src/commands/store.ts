import type { RightsReport } from '@countersign/event-store/eventstoredb';
import type { Clock } from '@countersign/runtime';
import { printable } from '@countersign/text';
import { CliError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import type { Line } from '../view/line.js';

/** The codes of these two commands, for scripts that watch the rights. */
const storeExitCodes = { asItMustBe: 0, otherRights: 1, notAsked: 2 } as const;

const service = 'COUNTERSIGN_EVENTSTORE_URL';
const admin = 'COUNTERSIGN_EVENTSTORE_ADMIN_URL';

const form = 'Set it to esdb://user:password@host:2113.';

/** `countersign store secure`: grants the service's user its rights, and proves them. */
export async function secure(output: Output): Promise<ExitCode> {
  const [adminUrl, url] = [await variable(output, admin), await variable(output, service)];
  const about = { done: 'set', variables: `${service} and ${admin}` };
  return report(output, about, async (clock) => {
    const { secureStore } = await import('@countersign/event-store/eventstoredb');
    return secureStore(adminUrl, url, clock);
  });
}

/** `countersign store check`: proves the rights of the service's user. */
export async function check(output: Output): Promise<ExitCode> {
  const url = await variable(output, service);
  return report(output, { done: 'checked', variables: service }, async (clock) => {
    const { checkRights } = await import('@countersign/event-store/eventstoredb');
    return checkRights(url, clock);
  });
}

async function variable({ terminal: { env } }: Output, name: string): Promise<string> {
  const value = env[name] ?? '';
  if (value === '') throw usageError(`${name} is not set.`, form);
  const { readConnectionString } = await import('@countersign/event-store/eventstoredb');
  try {
    readConnectionString(value);
  } catch (error) {
    throw usageError(`${name} ${reasonOf(error)}.`, form);
  }
  return value;
}

/** The text of a command's success, and the variables that it connects with. */
interface About {
  readonly done: string;
  readonly variables: string;
}

async function report(output: Output, about: About, ask: (clock: Clock) => Promise<RightsReport>): Promise<ExitCode> {
  const { systemClock } = await import('@countersign/runtime');
  const found = await ask(systemClock).catch((error: unknown) => {
    throw notAsked(error, about);
  });
  output.printJson(found);
  output.print(...table(found), ending(found));
  return found.isAsItMustBe ? storeExitCodes.asItMustBe : storeExitCodes.otherRights;
}

function notAsked(error: unknown, { done, variables }: About): CliError {
  const detail = `The rights in the event store could not be ${done}: ${reasonOf(error).replace(/\.$/, '')}.`;
  const problem = { type: 'about:blank', title: 'store not asked', status: 0, code: 'store-not-asked', detail };
  return new CliError(storeExitCodes.notAsked, problem, `Check ${variables}, and that the server runs.`);
}

function table({ tried }: RightsReport): readonly Line[] {
  const width = Math.max(...tried.map(({ what }) => what.length));
  const row = (what: string, wanted: string, found: string): string =>
    `${what.padEnd(width)}  ${wanted.padEnd(7)}  ${found}`;
  return [
    { text: row('tried', 'wanted', 'found') },
    ...tried.map(({ what, wanted, found }): Line => {
      const text = row(what, wanted, found);
      return { text, tone: wanted === found ? 'green' : 'red' };
    }),
  ];
}

function ending({ user, tried, isAsItMustBe }: RightsReport): Line {
  const who = user === null ? 'A client without a user' : `The user ${printable(user)}`;
  if (isAsItMustBe) return { text: `${who} has the rights that the service needs, and no others.`, tone: 'green' };
  if (tried.every(({ found }) => found === 'not authenticated')) {
    const remedy = 'Correct the variable, or set the password: countersign store secure';
    return {
      text: `The server refuses the name or the password of COUNTERSIGN_EVENTSTORE_URL. ${remedy}`,
      tone: 'red',
    };
  }
  return { text: `${who} has wrong rights. Correct them: countersign store secure`, tone: 'red' };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
